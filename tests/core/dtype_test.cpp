#include "framework/core/dtype.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>

using namespace learn;

TEST_CASE("half: every value survives the way to f32 and back") {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const Half h{static_cast<std::uint16_t>(bits)};
    const float f = to_float(h);
    if (std::isnan(f))
      CHECK(std::isnan(to_float(to_half(f))));
    else
      CHECK(to_half(f).bits == h.bits);
  }
}

#ifdef __FLT16_MANT_DIG__  // the compiler has _Float16; clang 14 has not
TEST_CASE(
    "half: rounding to nearest even agrees with the compiler's _Float16 around every border") {
  for (std::uint32_t bits = 0; bits < 0x7C00U; ++bits) {
    const float low = to_float(Half{static_cast<std::uint16_t>(bits)});
    const float high = to_float(Half{static_cast<std::uint16_t>(bits + 1)});
    const float middle = std::isinf(high) ? 65520.0F : (low + high) / 2;
    for (const float f : {std::nextafter(middle, 0.0F), middle, std::nextafter(middle, INFINITY)}) {
      const auto expected = static_cast<_Float16>(f);
      std::uint16_t expected_bits = 0;
      std::memcpy(&expected_bits, &expected, 2);
      CHECK(to_half(f).bits == expected_bits);
      CHECK(to_half(-f).bits == (expected_bits | 0x8000U));
    }
  }
}
#endif

TEST_CASE("half: the facts of the format") {
  CHECK(to_float(Half{0x7BFF}) == 65504.0F);
  CHECK(to_float(to_half(1.0005F)) == 1.0009765625F);
  CHECK(to_float(to_half(0.125F + 0.00006103515625F)) == 0.125F);  // swamping: 2^-3 + 2^-14
  CHECK(std::isinf(to_float(to_half(65520.0F))));
  CHECK(std::isnan(to_float(to_half(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("bfloat16: rounds to nearest even and keeps NaN and infinity") {
  CHECK(to_float(to_bfloat16(1.00390625F)) == 1.0F);  // a tie goes to the even neighbour
  CHECK(to_float(to_bfloat16(1.01171875F)) == 1.015625F);
  CHECK(std::isinf(to_float(to_bfloat16(std::numeric_limits<float>::max()))));
  CHECK(std::isnan(to_float(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
}
