// Conversions between f32, f16 and bf16, rounded to nearest even, and fills. Reads and writes each
// element once.
#include "framework/core/dtype.h"
#include "framework/kernels/cast/cast_kernels.h"
#include "framework/kernels/common/cuda/map.cuh"

namespace learn::cuda {
namespace {

struct Same {
  __device__ float operator()(std::int64_t, float x) const { return x; }
};

/// Fills with bits, not with f32 values as `map` does, because f32 cannot represent every i64.
template <class Bits>
__global__ void fill_kernel(std::int64_t n, std::int64_t packs, Bits value, Bits* x) {
  constexpr int kCount = device::kPack<Bits>;
  const std::int64_t thread = device::thread_index();
  if (thread < packs) {
    device::Pack<Bits, kCount> pack;
#pragma unroll
    for (int k = 0; k < kCount; ++k) pack.v[k] = value;
    device::store_pack(x, thread, pack);
    return;
  }
  const std::int64_t i = packs * kCount + (thread - packs);
  if (i < n) x[i] = value;
}

}  // namespace

template <class From, class To>
void cast(Stream stream, const From* x, To* y, GradMode mode, std::int64_t n) {
  if constexpr (std::is_same_v<From, To>)
    map_as<true>("cast", stream, n, Same{}, y, x);
  else
    map("cast", stream, mode, n, Same{}, y, x);
}

template <class Bits>
void fill(Stream stream, Bits* x, Bits value, std::int64_t n) {
  constexpr int kCount = device::kPack<Bits>;
  const std::int64_t packs = device::packs_in<kCount>(n, x);
  const Grid grid = elementwise_grid<kCount>(n, packs);
  launch("fill", fill_kernel<Bits>, grid, stream, n, packs, value, x);
}

#define LEARN_INSTANTIATE(From)                                            \
  template void cast(Stream, const From*, float*, GradMode, std::int64_t); \
  template void cast(Stream, const From*, Half*, GradMode, std::int64_t);  \
  template void cast(Stream, const From*, BFloat16*, GradMode, std::int64_t);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE
template void fill(Stream, std::uint8_t*, std::uint8_t, std::int64_t);
template void fill(Stream, std::uint16_t*, std::uint16_t, std::int64_t);
template void fill(Stream, std::uint32_t*, std::uint32_t, std::int64_t);
template void fill(Stream, std::uint64_t*, std::uint64_t, std::int64_t);

}  // namespace learn::cuda
