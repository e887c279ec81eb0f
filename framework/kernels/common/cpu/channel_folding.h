#pragma once
#include "framework/core/round_up.h"
#include "framework/core/threads/thread_pool.h"

#include <algorithm>
#include <cstdint>

namespace learn::cpu {

/// A view of (rows, channels) as fewer, wider rows, so that a small or odd number of channels still
/// fills vectors. `fold` consecutive rows form one row of `width` lanes, and lane v holds channel
/// v % channels. The remainder is the tail: `tail` lanes of one more row.
struct ChannelFolding {
  static constexpr std::int64_t kLanes = 64;     ///< a few vectors of any instruction set
  static constexpr std::int64_t kGrain = 16384;  ///< minimum number of elements per thread

  std::int64_t channels, fold, width, rows, tail;

  ChannelFolding(std::int64_t row_count, std::int64_t channel_count)
      : channels(channel_count),
        fold(ceil_div(kLanes, channels)),
        width(fold * channels),
        rows(row_count / fold),
        tail(row_count % fold * channels) {}

  /// Returns the minimum number of rows per chunk.
  [[nodiscard]] std::int64_t grain() const noexcept {
    return std::max<std::int64_t>(1, kGrain / width);
  }
  [[nodiscard]] std::int64_t chunks() const noexcept {
    return ThreadPool::chunk_count(rows, grain());
  }
  /// Returns the number of values in lane `v`: one per row, plus one if the tail reaches it.
  [[nodiscard]] double lane_rows(std::int64_t v) const noexcept {
    return static_cast<double>(v < tail ? rows + 1 : rows);
  }
  /// Repeats the first `channels` values in all lanes.
  void repeat(float* lanes) const {
    for (std::int64_t v = channels; v < width; ++v) lanes[v] = lanes[v - channels];
  }

  /// Calls `body(first element, rows, lanes)` for pieces that cover everything.
  template <class Body>
  void for_pieces(ThreadPool& threads, Body&& body) const {
    threads.parallel_for(rows, grain(), [&](std::int64_t begin, std::int64_t end) {
      body(begin * width, end - begin, width);
    });
    if (tail > 0) body(rows * width, 1, tail);
  }
};

}  // namespace learn::cpu
