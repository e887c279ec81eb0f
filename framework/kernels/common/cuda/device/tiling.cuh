#pragma once
#include <cstdint>

namespace learn::cuda::device {

inline constexpr int kColumnThreads = 256;

/// How a (rows, channels) matrix is cut: `packs` groups of channels per row, blocks of
/// 2^lanes_log2 threads side by side and the others below each other. A block of rows has
/// `rows_per_block` rows, the first `longer_blocks` one more.
struct Columns {
  std::int64_t packs;
  int lanes_log2;
  unsigned column_blocks;
  std::int64_t row_blocks, rows_per_block, longer_blocks;

  [[nodiscard]] std::int64_t blocks() const { return row_blocks * column_blocks; }
};

/// This thread's place: its pack of channels, and the rows begin, begin + step, ... below end.
struct ColumnThread {
  std::int64_t pack, row_block, begin, end;
  int step;
  bool inside;  ///< `pack` is one of the matrix; otherwise there are no rows either

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
  /// Whether this thread is the one of its channels that `add_down` leaves the result with.
  [[nodiscard]] __device__ bool leads(const Columns& c) const {
    return inside && threadIdx.x < (1U << c.lanes_log2);
  }
};

/// Adds `value[k]` over all threads of the block with the same channels; the first one of them gets
/// the sums. `scratch` holds count * kColumnThreads floats. Every thread of the block must call.
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
