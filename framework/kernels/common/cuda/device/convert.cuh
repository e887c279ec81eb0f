#pragma once
#include "framework/core/dtype.h"

#include <cstdint>

namespace learn::cuda::device {

/// Converts one element to and from f32 with the hardware's conversions, rounding to nearest even.
/// They equal the conversions of cuda_fp16.h and cuda_bf16.h, which would add a second of compile
/// time to every file.
__device__ inline float load(float x) { return x; }
__device__ inline float load(Half x) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
}
__device__ inline float load(BFloat16 x) {
  float value;
  asm("mov.b32 %0, {0, %1};" : "=f"(value) : "h"(x.bits));
  return value;
}

template <class T>
__device__ inline T store(float x);
template <>
__device__ inline float store<float>(float x) {
  return x;
}
template <>
__device__ inline Half store<Half>(float x) {
  Half value;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(value.bits) : "f"(x));
  return value;
}
template <>
__device__ inline BFloat16 store<BFloat16>(float x) {
  BFloat16 value;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(value.bits) : "f"(x));
  return value;
}

/// Elements per thread for kernels that access arrays of these types together: 16 bytes of the
/// widest type.
template <class... T>
inline constexpr int kPack = [] {
  int widest = 1;
  for (const int bytes : {static_cast<int>(sizeof(T))...}) widest = bytes > widest ? bytes : widest;
  return 16 / widest;
}();

/// `count` consecutive elements, moved by one instruction, or by several of 16 bytes each.
template <class T, int count>
struct alignas(sizeof(T) * count > 16 ? 16 : sizeof(T) * count) Pack {
  T v[count];
};

/// Loads pack number `i` of an array that is aligned for packs; see `aligned_for`.
template <int count, class T>
__device__ inline Pack<T, count> load_pack(const T* array, std::int64_t i) {
  return reinterpret_cast<const Pack<T, count>*>(array)[i];
}
template <int count, class T>
__device__ inline void store_pack(T* array, std::int64_t i, const Pack<T, count>& pack) {
  reinterpret_cast<Pack<T, count>*>(array)[i] = pack;
}

/// Returns whether each pointer is aligned for packs of `count` elements. Null pointers are not
/// accessed.
template <int count, class... T>
[[nodiscard]] bool aligned_for(const T*... arrays) {
  return ((reinterpret_cast<std::uintptr_t>(arrays) % alignof(Pack<T, count>) == 0) && ...);
}

/// Returns the number of packs of `count` among the n elements of each array, or 0 unless all
/// arrays are aligned for packs.
template <int count, class... T>
[[nodiscard]] std::int64_t packs_in(std::int64_t n, const T*... arrays) {
  return aligned_for<count>(arrays...) ? n / count : 0;
}

}  // namespace learn::cuda::device
