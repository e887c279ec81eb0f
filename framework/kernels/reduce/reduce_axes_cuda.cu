// Sums, largest and least elements over one dimension in the middle: a block has up to 32
// neighbouring columns, and its other threads share their rows, whose results meet in shared
// memory in an order that sizes alone decide. Reads x once.
#include "framework/kernels/common/cuda/device/convert.cuh"
#include "framework/kernels/common/cuda/launch.cuh"
#include "framework/kernels/reduce/reduce_axes_kernels.h"

#include <cstdint>

namespace learn::cuda {
namespace {

using kernels::AxisReduction;
using kernels::Reduction;

constexpr int kThreads = 256;

__device__ float read(DType dtype, const void* data, std::int64_t i) {
  if (dtype == DType::f16) return device::load(static_cast<const Half*>(data)[i]);
  if (dtype == DType::bf16) return device::load(static_cast<const BFloat16*>(data)[i]);
  return static_cast<const float*>(data)[i];
}

__device__ void write(DType dtype, void* data, std::int64_t i, float value) {
  if (dtype == DType::f16)
    static_cast<Half*>(data)[i] = device::store<Half>(value);
  else if (dtype == DType::bf16)
    static_cast<BFloat16*>(data)[i] = device::store<BFloat16>(value);
  else
    static_cast<float*>(data)[i] = value;
}

/// NaN stays, wherever it stands.
__device__ float join(Reduction reduction, float a, float b) {
  if (reduction == Reduction::sum) return a + b;
  if (reduction == Reduction::max) return a > b || isnan(a) ? a : b;
  return a < b || isnan(a) ? a : b;
}

__device__ float start(Reduction reduction) {
  constexpr float kInfinity = __builtin_huge_valf();
  if (reduction == Reduction::sum) return 0;
  return reduction == Reduction::max ? -kInfinity : kInfinity;
}

/// A block has `columns` of them, a power of two, in each of `blocks` parts of an outer index.
__global__ void reduce_axis_kernel(AxisReduction r,
                                   float factor,
                                   int columns,
                                   std::int64_t blocks) {
  __shared__ float parts[kThreads];
  const auto thread = static_cast<int>(threadIdx.x);
  const std::int64_t outer = static_cast<std::int64_t>(blockIdx.x) / blocks;
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.x) - outer * blocks) * columns + (thread & (columns - 1));
  const int rows = kThreads / columns;
  float total = start(r.reduction);
  if (column < r.inner)
    for (std::int64_t k = thread / columns; k < r.count; k += rows)
      total =
          join(r.reduction, total, read(r.x_dtype, r.x, (outer * r.count + k) * r.inner + column));
  parts[thread] = total;
  for (int half = kThreads / 2; half >= columns; half /= 2) {
    __syncthreads();
    if (thread < half) parts[thread] = join(r.reduction, parts[thread], parts[thread + half]);
  }
  if (thread < columns && column < r.inner)
    write(r.y_dtype, r.y, outer * r.inner + column, factor * parts[thread]);
}

}  // namespace

void reduce_axis(const Exec& exec, const AxisReduction& r) {
  int columns = 1;
  while (columns < 32 && columns < r.inner) columns *= 2;
  const std::int64_t blocks = ceil_div(r.inner, columns);
  const Grid grid{r.outer * blocks, kThreads};
  const auto factor = static_cast<float>(r.factor);
  launch("reduce_axis", reduce_axis_kernel, grid, exec, r, factor, columns, blocks);
}

}  // namespace learn::cuda
