#pragma once
#include "framework/core/function_ref.h"
#include "framework/runtime/cuda/stream.h"

#include <cstddef>

namespace learn::cuda {

/// True while a graph is captured on the stream: then nothing may wait for it.
[[nodiscard]] bool is_capturing(Stream stream);

/// Finds the fastest of several ways to do one thing on a stream.
class Race {
 public:
  explicit Race(Stream stream) : stream_(stream) {}

  /// Returns the index below `count` whose work, enqueued by `enqueue`, takes the least time. Times
  /// the candidates in turns, in several rounds, so that a temporary slowdown of the device affects
  /// all of them; much slower ones are dropped. The first race starts with untimed work, because an
  /// idle device has a low clock rate. A candidate that throws an Error is dropped; if all do,
  /// throws DeviceError with the last text. RanksErrors pass through. Waits for the stream.
  [[nodiscard]] std::size_t fastest(std::size_t count, FunctionRef<void(std::size_t)> enqueue);

 private:
  Stream stream_;
  bool warm_ = false;
};

}  // namespace learn::cuda
