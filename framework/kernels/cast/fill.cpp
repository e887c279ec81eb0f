#include "framework/kernels/cast/fill.h"

#include "framework/kernels/cast/cast_kernels.h"
#include "framework/kernels/cast/cast_reference.h"
#include "framework/runtime/dispatch.h"
#include "framework/tensor/convert.h"

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
  visit_dtype(x.dtype(), [&]<class T>() {
    using Bits = BitsOf<sizeof(T)>;
    const auto bits = std::bit_cast<Bits>(from_double<T>(value));
    with_executor(ctx, [&](const auto& exec) {
      fill(exec, reinterpret_cast<Bits*>(x.raw()), bits, x.elements());
    });
  });
}

Tensor filled(Context& ctx, double value) {
  Tensor out = ctx.empty({1}, DType::f32);
  fill(ctx, out, value);
  return out;
}

}  // namespace learn::kernels
