#pragma once

/// Reductions of a whole warp; every lane must take part. The order is fixed, so results are
/// reproducible bit for bit.
namespace learn::cuda::device {

inline constexpr unsigned kWholeWarp = 0xFFFFFFFFU;

__device__ inline int lane_index() { return static_cast<int>(threadIdx.x % 32U); }

/// Applies `combine(a, b)` over all lanes and returns the result to each lane. `combine` must be
/// commutative.
template <class Value, class Combine>
__device__ inline Value warp_reduce(Value value, Combine combine) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(kWholeWarp, value, distance));
  return value;
}

__device__ inline float warp_sum(float value) {
  return warp_reduce(value, [](float a, float b) { return a + b; });
}
/// Returns the maximum over the warp. NaN counts as missing, as in fmaxf.
__device__ inline float warp_max(float value) {
  return warp_reduce(value, [](float a, float b) { return fmaxf(a, b); });
}

}  // namespace learn::cuda::device
