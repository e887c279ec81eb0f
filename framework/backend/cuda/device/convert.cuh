#pragma once
#include "framework/core/dtype.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace learn::backend::cuda::device {

/// One element to and from f32, rounding to nearest even, by the hardware's conversions.
__device__ inline float load(float x) { return x; }
__device__ inline float load(Half x) { return __half2float(__ushort_as_half(x.bits)); }
__device__ inline float load(BFloat16 x) { return __bfloat162float(__ushort_as_bfloat16(x.bits)); }

template <class T>
__device__ inline T store(float x);
template <>
__device__ inline float store<float>(float x) {
  return x;
}
template <>
__device__ inline Half store<Half>(float x) {
  return Half{__half_as_ushort(__float2half_rn(x))};
}
template <>
__device__ inline BFloat16 store<BFloat16>(float x) {
  return BFloat16{__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}

/// Elements of `T` in one 16-byte access.
template <class T>
inline constexpr int kPack = static_cast<int>(16 / sizeof(T));

/// 16 bytes of `T`, moved by one instruction.
template <class T>
struct alignas(16) Pack {
  T v[kPack<T>];
};

}  // namespace learn::backend::cuda::device
