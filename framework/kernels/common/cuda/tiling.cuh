#pragma once
#include "framework/kernels/common/cuda/device/convert.cuh"
#include "framework/kernels/common/cuda/device/tiling.cuh"
#include "framework/kernels/common/cuda/launch.cuh"

#include <algorithm>
#include <cstdint>

/// Partition of (rows, channels) matrices into blocks of threads.
namespace learn::cuda {

/// Returns a partition in which each thread keeps its `count` channels and walks down
/// `rows_per_thread` rows, or more if there would be more than `most_row_blocks` blocks of rows. It
/// depends only on the sizes, as reproducible sums require.
[[nodiscard]] inline device::Columns tile_columns(std::int64_t rows,
                                                  std::int64_t channels,
                                                  int count,
                                                  std::int64_t rows_per_thread,
                                                  std::int64_t most_row_blocks) {
  const std::int64_t packs = channels / count;
  // A warp's width reads 512 bytes in one piece. If there are fewer channels, threads take more
  // rows; if there are few rows, threads take more channels.
  int log2 = 0;
  while ((1 << log2) < packs && (log2 < 5 || (log2 < 8 && (device::kColumnThreads >> log2) > rows)))
    ++log2;
  const std::int64_t rows_at_once = device::kColumnThreads >> log2;
  const std::int64_t wanted = ceil_div(rows, rows_at_once * rows_per_thread);
  const std::int64_t row_blocks = std::clamp<std::int64_t>(wanted, 1, most_row_blocks);
  return {.packs = packs,
          .lanes_log2 = log2,
          .column_blocks = static_cast<unsigned>(ceil_div(packs, std::int64_t{1} << log2)),
          .row_blocks = row_blocks,
          .rows_per_block = rows / row_blocks,
          .longer_blocks = rows % row_blocks};
}

/// Returns the launch for a partition.
[[nodiscard]] inline Grid grid_of(const device::Columns& columns) {
  return {columns.blocks(), device::kColumnThreads};
}

/// Blocks that keep a large device busy. It has 132 processors, and with fewer blocks some would be
/// idle.
inline constexpr std::int64_t kBusyBlocks = 132;

/// Returns a partition for elementwise work: sixteen rows per thread where that still fills a large
/// device, so that a thread seldom loads its per-channel values. Otherwise it uses fewer rows, down
/// to one, until the whole device is busy.
[[nodiscard]] inline device::Columns tiling_for_writing(std::int64_t rows,
                                                        std::int64_t channels,
                                                        int count) {
  constexpr std::int64_t kNoLimit = 0x7FFFFFFF;
  constexpr std::int64_t kFullBlocks = 2048;
  device::Columns c = tile_columns(rows, channels, count, 16, kNoLimit);
  if (c.blocks() >= kFullBlocks) return c;
  for (std::int64_t per_thread = 4; per_thread > 0; per_thread /= 2) {
    c = tile_columns(rows, channels, count, per_thread, kNoLimit);
    if (c.blocks() >= kBusyBlocks) break;
  }
  return c;
}

/// Returns a partition for sums over rows: enough blocks to fill a large device (132 processors, 8
/// blocks each), but no more partial results than one warp per channel can add up cheaply. Each
/// thread takes sixteen rows, or fewer, down to four, until the whole device is busy; four loads
/// are in flight at once.
[[nodiscard]] inline device::Columns tiling_for_sums(std::int64_t rows,
                                                     std::int64_t channels,
                                                     int count) {
  constexpr std::int64_t kBlocks = 1024;
  const std::int64_t column_blocks = tile_columns(rows, channels, count, 16, 1).column_blocks;
  const std::int64_t most = std::max<std::int64_t>(1, kBlocks / column_blocks);
  device::Columns c{};
  for (std::int64_t per_thread = 16; per_thread >= 4; per_thread /= 2) {
    c = tile_columns(rows, channels, count, per_thread, most);
    if (c.blocks() >= kBusyBlocks) break;
  }
  return c;
}

/// Returns the maximum number of row blocks that `tiling_for_sums` makes of such a matrix, for any
/// alignment.
[[nodiscard]] inline std::int64_t max_partials(std::int64_t rows, std::int64_t channels) {
  std::int64_t most = 1;
  for (const int count : {1, 4, 8})
    if (channels >= count) most = std::max(most, tiling_for_sums(rows, channels, count).row_blocks);
  return most;
}

/// Calls `f.operator()<n>()` with the number of channels that a thread processes at once: `count`
/// if every row is aligned for packs (all widths are multiples, all pointers aligned), otherwise 1.
template <int count, class F, class... T>
void with_pack(std::initializer_list<std::int64_t> widths, F&& f, const T*... arrays) {
  const bool whole =
      std::all_of(widths.begin(), widths.end(), [](std::int64_t w) { return w % count == 0; });
  if (whole && device::aligned_for<count>(arrays...))
    f.template operator()<count>();
  else
    f.template operator()<1>();
}

}  // namespace learn::cuda
