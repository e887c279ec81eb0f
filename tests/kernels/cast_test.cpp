#include "framework/kernels/cast/cast.h"

#include "framework/tensor/factory.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

using namespace learn;

namespace {

/// Converts `in` (f32 bit patterns) to `dtype` in one call.
std::vector<std::uint16_t> narrow(Context& ctx, const std::vector<std::uint32_t>& in, DType dtype) {
  const Shape shape{static_cast<std::int64_t>(in.size())};
  Tensor x = ctx.empty(shape, DType::f32);
  std::memcpy(x.raw(), in.data(), x.bytes());
  Tensor y = ctx.empty(shape, dtype);
  kernels::cast(ctx, x, y);
  std::vector<std::uint16_t> out(in.size());
  std::memcpy(out.data(), y.raw(), y.bytes());
  return out;
}

/// The compiler's own conversion, in software, is the oracle for f16; the sum that IEEE rounding
/// amounts to is the one for bf16.
#ifdef __FLT16_MANT_DIG__
std::uint16_t expected_half(std::uint32_t bits) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(std::bit_cast<float>(bits)));
}
#else  // clang 14 has no _Float16: the framework's own, scalar, conversion
std::uint16_t expected_half(std::uint32_t bits) { return to_half(std::bit_cast<float>(bits)).bits; }
#endif
std::uint16_t expected_bfloat16(std::uint32_t bits) {
  const std::uint32_t low = bits & 0xFFFFU;
  const std::uint32_t high = bits >> 16U;
  const bool up = low > 0x8000U || (low == 0x8000U && (high & 1U) != 0);
  return static_cast<std::uint16_t>(high + (up ? 1U : 0U));
}

std::int64_t wrong_conversions(Context& ctx, const std::vector<std::uint32_t>& in) {
  const std::vector<std::uint16_t> halves = narrow(ctx, in, DType::f16);
  const std::vector<std::uint16_t> brains = narrow(ctx, in, DType::bf16);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const float f = std::bit_cast<float>(in[i]);
    wrong += to_half(f).bits != halves[i];
    wrong += to_bfloat16(f).bits != brains[i];
    if (std::isnan(f)) {
      wrong += !std::isnan(to_float(Half{halves[i]}));
      wrong += !std::isnan(to_float(BFloat16{brains[i]}));
    } else {
      wrong += halves[i] != expected_half(in[i]);
      wrong += brains[i] != expected_bfloat16(in[i]);
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("cast: every half and bfloat16 becomes exactly its f32") {
  Context ctx({.threads = 2});
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Tensor x = ctx.empty({0x10000}, dtype);
    for (std::uint32_t i = 0; i < 0x10000U; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      std::memcpy(x.raw() + 2 * static_cast<std::size_t>(i), &bits, 2);
    }
    Tensor y = ctx.empty({0x10000}, DType::f32);
    kernels::cast(ctx, x, y);
    std::int64_t wrong = 0;
    for (std::uint32_t i = 0; i < 0x10000U; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      const auto got = std::bit_cast<std::uint32_t>(y.span<float>()[i]);
      // Assembled from sign, exponent and mantissa for f16: not the formula under test.
      const int exponent = (bits >> 10U) & 0x1FU;
      const int mantissa = bits & 0x3FFU;
      double value =
          exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
      if (exponent == 31) value = mantissa == 0 ? INFINITY : NAN;
      auto expected =
          std::bit_cast<std::uint32_t>(static_cast<float>((bits & 0x8000U) != 0 ? -value : value));
      if (exponent == 31 && mantissa != 0)  // payload and sign are kept
        expected = (static_cast<std::uint32_t>(bits & 0x8000U) << 16U) | 0x7F800000U |
                   (static_cast<std::uint32_t>(mantissa) << 13U);
      if (dtype == DType::bf16) expected = static_cast<std::uint32_t>(bits) << 16U;
      wrong += got != expected;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("cast: f32 to halves at every border of rounding, with NaN and infinities") {
  Context ctx({.threads = 2});
  std::vector<std::uint32_t> in;
  // All upper halves, with the lower bits around the ties of both formats.
  for (std::uint32_t high = 0; high < 0x10000U; ++high)
    for (const std::uint32_t low : {0U,
                                    1U,
                                    0xFFFU,
                                    0x1000U,
                                    0x1001U,
                                    0x7FFFU,
                                    0x8000U,
                                    0x8001U,
                                    0xEFFFU,
                                    0xF000U,
                                    0xF001U,
                                    0xFFFFU})
      in.push_back((high << 16U) | low);
  CHECK(wrong_conversions(ctx, in) == 0);
}

TEST_CASE("cast: accumulate adds in f32, f64 takes part, and one dtype is a copy") {
  Context ctx({.threads = 2});
  const Tensor x = uniform(ctx.step(), {1001}, DType::f32, -4, 4, 5);
  Tensor sum = full(ctx.step(), {1001}, DType::f16, 0.25);
  kernels::cast(ctx, x, sum, GradMode::accumulate);
  Tensor wide = ctx.empty({1001}, DType::f64);
  kernels::cast(ctx, x, wide);
  Tensor same = ctx.empty({1001}, DType::f32);
  kernels::cast(ctx, x, same);
  CHECK(same_bits(same, x));
  for (std::int64_t i = 0; i < 1001; ++i) {
    CHECK(get(sum, i) == static_cast<double>(to_float(
                             to_half(x.span<float>()[static_cast<std::size_t>(i)] + 0.25F))));
    CHECK(get(wide, i) == get(x, i));
  }
}

// All 2^32 would take a quarter of an hour, nearly all of it in the oracle. A prime stride meets
// every exponent and every pattern of the low bits.
TEST_SUITE("slow") {
  TEST_CASE("cast: every 61st value of f32 to f16 and bf16") {
    Context ctx({.threads = 2});
    std::vector<std::uint32_t> in(std::size_t{1} << 20U);
    std::uint64_t next = 0;
    while (next <= 0xFFFFFFFFU) {
      for (std::uint32_t& bits : in) {
        bits = static_cast<std::uint32_t>(next);
        next += 61;
      }
      REQUIRE(wrong_conversions(ctx, in) == 0);
    }
  }
}
