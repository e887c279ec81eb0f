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

/// Elements per thread of kernels that access arrays of these types together: 16 bytes of the
/// widest one.
template <class... T>
inline constexpr int kPack = [] {
  int widest = 1;
  for (const int bytes : {static_cast<int>(sizeof(T))...}) widest = bytes > widest ? bytes : widest;
  return 16 / widest;
}();

/// `count` neighbours, moved by one instruction, or by several of 16 bytes each.
template <class T, int count>
struct alignas(sizeof(T) * count > 16 ? 16 : sizeof(T) * count) Pack {
  T v[count];
};

/// Pack number `i` of an array that begins where packs may: see `aligned_for`.
template <int count, class T>
__device__ inline Pack<T, count> load_pack(const T* array, std::int64_t i) {
  return reinterpret_cast<const Pack<T, count>*>(array)[i];
}
template <int count, class T>
__device__ inline void store_pack(T* array, std::int64_t i, const Pack<T, count>& pack) {
  reinterpret_cast<Pack<T, count>*>(array)[i] = pack;
}

/// Whether packs of `count` elements may begin at each pointer. Null pointers are not accessed.
template <int count, class... T>
[[nodiscard]] bool aligned_for(const T*... arrays) {
  return ((reinterpret_cast<std::uintptr_t>(arrays) % alignof(Pack<T, count>) == 0) && ...);
}

}  // namespace learn::backend::cuda::device
