#pragma once
#include <cstdint>

namespace learn::cuda::device {

inline constexpr int kColumnThreads = 256;

/// The partition of a (rows, channels) matrix. A row has `packs` groups of channels. A block of
/// threads is 2^lanes_log2 threads wide, and its other threads take further rows. A block of rows
/// has `rows_per_block` rows, and the first `longer_blocks` have one more.
struct Columns {
  std::int64_t packs;
  int lanes_log2;
  unsigned column_blocks;
  std::int64_t row_blocks, rows_per_block, longer_blocks;

  [[nodiscard]] std::int64_t blocks() const { return row_blocks * column_blocks; }
};

/// The position of this thread: its pack of channels, and its rows from the first one in steps of
/// `step` up to the end.
struct ColumnThread {
  std::int64_t pack, row_block, begin, end;
  int step;
  bool inside;  ///< `pack` is within the matrix; otherwise the thread has no rows

  __device__ explicit ColumnThread(const Columns& c) {
    const int thread = static_cast<int>(threadIdx.x);
    row_block = static_cast<std::int64_t>(blockIdx.x / c.column_blocks);
    pack = (static_cast<std::int64_t>(blockIdx.x % c.column_blocks) << c.lanes_log2) +
           (thread & ((1 << c.lanes_log2) - 1));
    step = kColumnThreads >> c.lanes_log2;
    inside = pack < c.packs;
    const bool longer = row_block < c.longer_blocks;
    const std::int64_t first =
        c.rows_per_block * row_block + (longer ? row_block : c.longer_blocks);
    end = first + c.rows_per_block + (longer ? 1 : 0);
    begin = inside ? first + (thread >> c.lanes_log2) : end;
  }
  /// Returns whether `add_down` leaves the result of these channels in this thread.
  [[nodiscard]] __device__ bool leads(const Columns& c) const {
    return inside && threadIdx.x < (1U << c.lanes_log2);
  }
};

/// Adds `value[k]` over all threads of the block that have the same channels. The first of these
/// threads gets the sums. `scratch` holds count * kColumnThreads floats. Every thread of the block
/// must call it.
template <int count>
__device__ inline void add_down(const Columns& c, float (&value)[count], float* scratch) {
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int k = 0; k < count; ++k) scratch[k * kColumnThreads + thread] = value[k];
  __syncthreads();
  for (int half = kColumnThreads / 2; half >= (1 << c.lanes_log2); half /= 2) {
    if (thread < half) {
#pragma unroll
      for (int k = 0; k < count; ++k) {
        value[k] += scratch[k * kColumnThreads + thread + half];
        scratch[k * kColumnThreads + thread] = value[k];
      }
    }
    __syncthreads();
  }
}

}  // namespace learn::cuda::device
