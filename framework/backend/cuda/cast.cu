#include "framework/backend/cuda/cast.h"
#include "framework/backend/cuda/device/convert.cuh"
#include "framework/backend/cuda/device/elementwise.cuh"
#include "framework/backend/cuda/launch.cuh"
#include "framework/core/dtype.h"

namespace learn::backend::cuda {
namespace {

using device::kElementwiseThreads;

template <class From, class To, bool accumulate>
__global__ void cast_kernel(const From* x, To* y, std::int64_t n) {
  device::for_each_element(n, [&](std::int64_t i) {
    float value = device::load(x[i]);
    if constexpr (accumulate) value += device::load(y[i]);
    y[i] = device::store<To>(value);
  });
}

template <class Bits>
__global__ void fill_kernel(Bits* x, Bits value, std::int64_t n) {
  device::for_each_element(n, [&](std::int64_t i) { x[i] = value; });
}

}  // namespace

template <class From, class To>
void cast(Stream stream, const From* x, To* y, GradMode mode, std::int64_t n) {
  const std::int64_t blocks = ceil_div(n, kElementwiseThreads);
  if (mode == GradMode::accumulate)
    launch("cast", cast_kernel<From, To, true>, blocks, kElementwiseThreads, stream, x, y, n);
  else
    launch("cast", cast_kernel<From, To, false>, blocks, kElementwiseThreads, stream, x, y, n);
}

template <class Bits>
void fill(Stream stream, Bits* x, Bits value, std::int64_t n) {
  launch("fill",
         fill_kernel<Bits>,
         ceil_div(n, kElementwiseThreads),
         kElementwiseThreads,
         stream,
         x,
         value,
         n);
}

#define LEARN_INSTANTIATE(From)                                            \
  template void cast(Stream, const From*, float*, GradMode, std::int64_t); \
  template void cast(Stream, const From*, Half*, GradMode, std::int64_t);  \
  template void cast(Stream, const From*, BFloat16*, GradMode, std::int64_t);
LEARN_INSTANTIATE(float)
LEARN_INSTANTIATE(Half)
LEARN_INSTANTIATE(BFloat16)
#undef LEARN_INSTANTIATE
template void fill(Stream, std::uint8_t*, std::uint8_t, std::int64_t);
template void fill(Stream, std::uint16_t*, std::uint16_t, std::int64_t);
template void fill(Stream, std::uint32_t*, std::uint32_t, std::int64_t);
template void fill(Stream, std::uint64_t*, std::uint64_t, std::int64_t);

}  // namespace learn::backend::cuda
