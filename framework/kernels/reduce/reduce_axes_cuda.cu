// Sums, maxima and minima over one dimension in the middle. A block computes neighbouring results.
// Its other threads share their rows, which are joined in shared memory in an order that depends
// only on the sizes. If there are too few results to keep a device busy, the rows are divided into
// parts, whose results a second launch joins. Reads x once.
#include "framework/kernels/common/cuda/device/convert.cuh"
#include "framework/kernels/common/cuda/launch.cuh"
#include "framework/kernels/common/cuda/tiling.cuh"
#include "framework/kernels/reduce/reduce_axes_kernels.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace learn::cuda {
namespace {

using kernels::AxisReduction;
using kernels::Reduction;

constexpr int kThreads = 256;

__device__ void write(DType dtype, void* data, std::int64_t i, float value) {
  if (dtype == DType::f16)
    static_cast<Half*>(data)[i] = device::store<Half>(value);
  else if (dtype == DType::bf16)
    static_cast<BFloat16*>(data)[i] = device::store<BFloat16>(value);
  else
    static_cast<float*>(data)[i] = value;
}

/// Joins two elements. NaN stays in either position.
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

/// Joins the given rows of `x`, which are `step` apart, with four loads in flight at once.
template <class T>
__device__ float join_rows(Reduction reduction,
                           const T* x,
                           std::int64_t inner,
                           std::int64_t begin,
                           std::int64_t end,
                           int step) {
  float total = start(reduction);
#pragma unroll 4
  for (std::int64_t row = begin; row < end; row += step)
    total = join(reduction, total, device::load(x[row * inner]));
  return total;
}

/// Computes y (parts, outer * inner). Each block computes `lanes` neighbouring results of one part;
/// `lanes` is a power of two.
__global__ void reduce_axis_kernel(
    AxisReduction r, float factor, int lanes, std::int64_t lane_blocks, std::int64_t parts) {
  __shared__ float joined[kThreads];
  const auto thread = static_cast<int>(threadIdx.x);
  const std::int64_t part = static_cast<std::int64_t>(blockIdx.x) / lane_blocks;
  const std::int64_t result =
      (static_cast<std::int64_t>(blockIdx.x) - part * lane_blocks) * lanes + (thread & (lanes - 1));
  const bool inside = result < r.outer * r.inner;
  float total = start(r.reduction);
  if (inside) {
    const std::int64_t outer = result / r.inner;
    const std::int64_t first = outer * r.count * r.inner + (result - outer * r.inner);
    const std::int64_t begin = part * r.count / parts + thread / lanes;
    const std::int64_t end = (part + 1) * r.count / parts;
    const int step = kThreads / lanes;
    if (r.x_dtype == DType::f16)
      total =
          join_rows(r.reduction, static_cast<const Half*>(r.x) + first, r.inner, begin, end, step);
    else if (r.x_dtype == DType::bf16)
      total = join_rows(
          r.reduction, static_cast<const BFloat16*>(r.x) + first, r.inner, begin, end, step);
    else
      total =
          join_rows(r.reduction, static_cast<const float*>(r.x) + first, r.inner, begin, end, step);
  }
  joined[thread] = total;
  for (int half = kThreads / 2; half >= lanes; half /= 2) {
    __syncthreads();
    if (thread < half) joined[thread] = join(r.reduction, joined[thread], joined[thread + half]);
  }
  if (thread < lanes && inside)
    write(r.y_dtype, r.y, part * r.outer * r.inner + result, factor * joined[thread]);
}

std::int64_t power_of_two(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

/// The distribution of results and rows over the threads of a block, and the number of parts of the
/// rows.
struct Cut {
  int lanes;
  std::int64_t lane_blocks, parts;
};

Cut cut(const AxisReduction& r) {
  constexpr std::int64_t kBlocks = 4 * kBusyBlocks;
  constexpr std::int64_t kRowsPerThread = 4;
  const std::int64_t rows =
      std::min<std::int64_t>(power_of_two(std::max<std::int64_t>(r.count, 1)), kThreads);
  // Neighbouring columns are read in one piece.
  const std::int64_t lanes =
      std::max(kThreads / rows, std::min<std::int64_t>(power_of_two(r.inner), 32));
  const std::int64_t lane_blocks = ceil_div(r.outer * r.inner, lanes);
  const std::int64_t most = r.count / (kThreads / lanes * kRowsPerThread);
  return {.lanes = static_cast<int>(lanes),
          .lane_blocks = lane_blocks,
          .parts = std::max<std::int64_t>(std::min(kBlocks / lane_blocks, most), 1)};
}

void run(const Exec& exec, const AxisReduction& r, double factor, const Cut& c) {
  launch("reduce_axis",
         reduce_axis_kernel,
         Grid{c.parts * c.lane_blocks, kThreads},
         exec,
         r,
         static_cast<float>(factor),
         c.lanes,
         c.lane_blocks,
         c.parts);
}

}  // namespace

void reduce_axis(const Exec& exec, const AxisReduction& r) {
  const Cut c = cut(r);
  if (c.parts == 1) {
    run(exec, r, r.factor, c);
    return;
  }
  const std::int64_t results = r.outer * r.inner;
  const FloatWorkspace workspace(exec, c.parts * results);
  AxisReduction first = r;
  first.y = workspace.data();
  first.y_dtype = DType::f32;
  run(exec, first, 1, c);
  const AxisReduction second{.reduction = r.reduction,
                             .x = workspace.data(),
                             .x_dtype = DType::f32,
                             .y = r.y,
                             .y_dtype = r.y_dtype,
                             .outer = 1,
                             .count = c.parts,
                             .inner = results,
                             .factor = r.factor};
  Cut joining = cut(second);
  joining.parts = 1;
  run(exec, second, r.factor, joining);
}

}  // namespace learn::cuda
