#include "framework/kernels/cast/fill.h"

#include "framework/kernels/cast/cast_cuda.h"
#include "framework/runtime/dispatch.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace learn::kernels {

namespace {

template <std::size_t bytes>
using BitsOf = std::conditional_t<
    bytes == 1,
    std::uint8_t,
    std::conditional_t<bytes == 2,
                       std::uint16_t,
                       std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>>;

}  // namespace

void fill(Context& ctx, Tensor& x, double value) {
  check_device(ctx, "fill", x);
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda)
      visit_dtype(x.dtype(), [&]<class T>() {
        using Bits = BitsOf<sizeof(T)>;
        cuda::fill(ctx.cuda().compute(),
                   reinterpret_cast<Bits*>(x.raw()),
                   std::bit_cast<Bits>(from_double<T>(value)),
                   x.elements());
      });
    return;
  }
  constexpr std::int64_t kGrain = 65536;
  visit_dtype(x.dtype(), [&]<class T>() {
    T* data = x.data<T>();
    const T element = from_double<T>(value);
    ctx.threads().parallel_for(x.elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::fill(data + begin, data + end, element);
    });
  });
}

}  // namespace learn::kernels
