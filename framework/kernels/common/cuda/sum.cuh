#pragma once
#include "framework/kernels/common/cuda/device/block.cuh"
#include "framework/kernels/common/cuda/device/convert.cuh"
#include "framework/kernels/common/cuda/device/elementwise.cuh"
#include "framework/kernels/common/cuda/launch.cuh"

#include <algorithm>
#include <cstdint>

/// Sums over all elements in two stages, without atomics: the order of additions depends only on
/// the sizes.
namespace learn::cuda {

inline constexpr int kSumThreads = 256;
inline constexpr std::int64_t kMaxPartials = 1024;

/// Returns the number of partial sums that `partial_sums` makes of n elements, at most
/// `kMaxPartials`.
[[nodiscard]] inline std::int64_t partials_of(std::int64_t n) {
  constexpr std::int64_t kElementsPerBlock = kSumThreads * 16;
  return std::clamp<std::int64_t>(ceil_div(n, kElementsPerBlock), 1, kMaxPartials);
}

/// Returns the launch that computes them.
[[nodiscard]] inline Grid sum_grid(std::int64_t n) { return {partials_of(n), kSumThreads}; }

/// Computes partial[block] = the sum of f(in[i]...) over this block's share of [0, n). Threads take
/// packs in steps of the grid, then single elements of the tail.
template <class F, class... In>
__global__ void partial_sums_kernel(
    std::int64_t n, std::int64_t packs, F f, float* partial, const In*... in) {
  constexpr int kCount = device::kPack<In...>;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kSumThreads;
  float sum[kCount] = {};
#pragma unroll 2
  for (std::int64_t i = device::thread_index(); i < packs; i += threads)
    [&](const device::Pack<In, kCount>... x) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) sum[k] += f(device::load(x.v[k])...);
    }(device::load_pack<kCount>(in, i)...);
  for (std::int64_t i = packs * kCount + device::thread_index(); i < n; i += threads)
    sum[0] += f(device::load(in[i])...);
#pragma unroll
  for (int k = 1; k < kCount; ++k) sum[0] += sum[k];
  const float total = device::block_sum<kSumThreads>(sum[0]);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

/// Writes `partials_of(n)` sums to `partial`.
template <class F, class... In>
void partial_sums(
    const char* name, Stream stream, std::int64_t n, F f, float* partial, const In*... in) {
  constexpr int kCount = device::kPack<In...>;
  const std::int64_t packs = device::packs_in<kCount>(n, in...);
  const auto kernel = partial_sums_kernel<F, In...>;
  launch(name, kernel, sum_grid(n), stream, n, packs, f, partial, in...);
}

/// Computes *out = finish(the sum of n values) in one block.
template <class Finish>
__global__ void join_kernel(std::int64_t n, const float* values, Finish finish, float* out) {
  float sum = 0;
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < n; i += kSumThreads) sum += values[i];
  const float total = device::block_sum<kSumThreads>(sum);
  if (threadIdx.x == 0) *out = finish(total);
}

template <class Finish>
void reduce_partials(
    Stream stream, std::int64_t n, const float* values, Finish finish, float* out) {
  const Grid one = single_block(kSumThreads);
  launch("reduce_partials", join_kernel<Finish>, one, stream, n, values, finish, out);
}

/// A `Finish` of `reduce_partials` that multiplies by a factor.
struct ScaleBy {
  float factor;
  __device__ float operator()(float sum) const { return factor * sum; }
};

}  // namespace learn::cuda
