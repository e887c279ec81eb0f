// w = g v / ||v||, row by row. A block per row reads its row twice, the second time from the cache.
// Forward: the sum of squares, then w. Backward: the product of v and dw, then dv and dg.
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/device/block.cuh"
#include "framework/kernels/common/cuda/tiling.cuh"
#include "framework/kernels/norm/weight_norm_kernels.h"

namespace learn::cuda {

using kernels::WeightNormArgs;
using kernels::WeightNormBackwardArgs;

namespace {

constexpr int kRowThreads = 128;  // rows have hundreds to thousands of elements

/// Returns to every thread the sum of a[i] * b[i] over the block's row, which has the given number
/// of packs.
template <int count, class T>
__device__ float row_dot(const T* a, const T* b, std::int64_t packs) {
  float sum = 0;
#pragma unroll 2
  for (std::int64_t i = threadIdx.x; i < packs; i += kRowThreads) {
    const auto x = device::load_pack<count>(a, i);
    const auto y = device::load_pack<count>(b, i);
#pragma unroll
    for (int k = 0; k < count; ++k) sum += device::load(x.v[k]) * device::load(y.v[k]);
  }
  __shared__ float all;
  sum = device::block_sum<kRowThreads>(sum);
  if (threadIdx.x == 0) all = sum;
  __syncthreads();
  return all;
}

template <int count, class T>
__global__ void weight_norm_kernel(WeightNormArgs<T> args) {
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t packs = args.columns / count;
  const T* v = args.v + row * args.columns;
  const float norm = sqrtf(row_dot<count>(v, v, packs));
  const float factor = args.g[row] / norm;
  if (threadIdx.x == 0) args.norms[row] = norm;
  T* w = args.w + row * args.columns;
  for (std::int64_t i = threadIdx.x; i < packs; i += kRowThreads) {
    auto pack = device::load_pack<count>(v, i);
#pragma unroll
    for (int k = 0; k < count; ++k) pack.v[k] = device::store<T>(factor * device::load(pack.v[k]));
    device::store_pack(w, i, pack);
  }
}

template <int count, class T>
__global__ void weight_norm_backward_kernel(WeightNormBackwardArgs<T> args) {
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t packs = args.columns / count;
  const T* v = args.v + row * args.columns;
  const T* dw = args.dw + row * args.columns;
  const float norm = args.norms[row];
  const float length = row_dot<count>(v, dw, packs) / norm;
  if (threadIdx.x == 0 && args.dg != nullptr)
    args.dg[row] = (args.dg_mode == GradMode::accumulate ? args.dg[row] : 0.0F) + length;
  if (args.dv == nullptr) return;
  const float factor = args.g[row] / norm;
  const float along = length / norm;
  const bool add = args.dv_mode == GradMode::accumulate;
  T* dv = args.dv + row * args.columns;
  for (std::int64_t i = threadIdx.x; i < packs; i += kRowThreads) {
    const auto x = device::load_pack<count>(v, i);
    const auto y = device::load_pack<count>(dw, i);
    device::Pack<T, count> out{};
    if (add) out = device::load_pack<count>(dv, i);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const float value = factor * (device::load(y.v[k]) - along * device::load(x.v[k]));
      out.v[k] = device::store<T>(device::load(out.v[k]) + value);
    }
    device::store_pack(dv, i, out);
  }
}

}  // namespace

template <class T>
void weight_norm_forward(const Exec& exec, const WeightNormArgs<T>& args) {
  with_pack<device::kPack<T>>(
      {args.columns},
      [&]<int count>() {
        const Grid grid{args.rows, kRowThreads};
        launch("weight_norm", weight_norm_kernel<count, T>, grid, exec, args);
      },
      args.v,
      args.w);
}

template <class T>
void weight_norm_backward(const Exec& exec, const WeightNormBackwardArgs<T>& args) {
  with_pack<device::kPack<T>>(
      {args.columns},
      [&]<int count>() {
        const Grid grid{args.rows, kRowThreads};
        launch("weight_norm_backward", weight_norm_backward_kernel<count, T>, grid, exec, args);
      },
      args.v,
      args.dw,
      args.dv);
}

#define LEARN_INSTANTIATE(T)                                                \
  template void weight_norm_forward(const Exec&, const WeightNormArgs<T>&); \
  template void weight_norm_backward(const Exec&, const WeightNormBackwardArgs<T>&);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
