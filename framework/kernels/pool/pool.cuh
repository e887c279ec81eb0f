#pragma once
#include <cstdint>

namespace learn::cuda::device {

/// One axis of a pooling: `extent` inputs, `outputs` windows.
struct PoolAxis {
  int extent, outputs, window, stride, pad;

  /// Return the elements [first, last) of the image that window `out` covers.
  [[nodiscard]] __device__ int first_in(int out) const {
    const int first = out * stride - pad;
    return first < 0 ? 0 : first;
  }
  [[nodiscard]] __device__ int last_in(int out) const {
    const int last = out * stride - pad + window;
    return last < extent ? last : extent;
  }
  /// Return the windows [first, last) that contain element `in`.
  [[nodiscard]] __device__ int first_over(int in) const {
    const int beyond = in + pad - window;  // windows that start here or earlier end before `in`
    return beyond < 0 ? 0 : beyond / stride + 1;
  }
  [[nodiscard]] __device__ int last_over(int in) const {
    const int last = (in + pad) / stride + 1;
    return last < outputs ? last : outputs;
  }
  /// Returns the position of element `in` in window `out`.
  [[nodiscard]] __device__ int offset(int in, int out) const { return in - (out * stride - pad); }
};

/// The partition of a pooling by rows of the result (forward) or of the input (backward). A block
/// processes packs of one row, so that every division except its first is in 32 bits.
struct PoolPlan {
  PoolAxis rows, columns;
  int packs;           ///< groups of channels
  int blocks_per_row;  ///< of the tensor that is written
  bool count_padding;

  /// Returns the factor of an average over a window, 1 / elements.
  [[nodiscard]] __device__ float share(int p, int q) const {
    const int elements = count_padding ? rows.window * columns.window
                                       : (rows.last_in(p) - rows.first_in(p)) *
                                             (columns.last_in(q) - columns.first_in(q));
    return 1.0F / static_cast<float>(elements);
  }
};

/// The position that a thread processes: row `row` of sample `sample`, element `column`, channels
/// `pack`.
struct PoolThread {
  int sample, row, column, pack;
  bool inside;

  /// Finds the position. `rows` and `columns` are the size, in elements, of the tensor that is
  /// written.
  __device__ PoolThread(const PoolPlan& plan, int rows, int columns) {
    const unsigned line = blockIdx.x / static_cast<unsigned>(plan.blocks_per_row);
    const unsigned part = blockIdx.x % static_cast<unsigned>(plan.blocks_per_row);
    const unsigned i = part * blockDim.x + threadIdx.x;
    sample = static_cast<int>(line / static_cast<unsigned>(rows));
    row = static_cast<int>(line % static_cast<unsigned>(rows));
    column = static_cast<int>(i / static_cast<unsigned>(plan.packs));
    pack = static_cast<int>(i % static_cast<unsigned>(plan.packs));
    inside = column < columns;
  }
  /// Returns the pack number of element (r, s) of this sample and these channels in a tensor of
  /// that extent.
  [[nodiscard]] __device__ std::int64_t at(
      const PoolPlan& plan, int rows, int columns, int r, int s) const {
    const std::int64_t line = static_cast<std::int64_t>(sample) * rows + r;
    return (line * columns + s) * plan.packs + pack;
  }
};

}  // namespace learn::cuda::device
