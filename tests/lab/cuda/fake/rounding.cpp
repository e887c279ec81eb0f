#include "tests/lab/cuda/fake/rounding.h"

#include <array>

namespace fakecuda {

double round_to(double x, const Format& format, Rounding rounding) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  (void)std::frexp(x, &exponent);  // |x| in [2^(exponent-1), 2^exponent)
  const int lowest = std::max(exponent - format.precision, format.smallest - format.precision + 1);
  const double scaled = std::ldexp(x, -lowest);
  double whole = 0;
  switch (rounding) {
    case Rounding::nearest:
      whole = std::nearbyint(scaled);
      break;
    case Rounding::zero:
      whole = std::trunc(scaled);
      break;
    case Rounding::down:
      whole = std::floor(scaled);
      break;
    case Rounding::up:
      whole = std::ceil(scaled);
      break;
  }
  const double result = std::ldexp(whole, lowest);
  const double limit = std::ldexp(2.0 - std::ldexp(1.0, 1 - format.precision), format.largest);
  if (std::fabs(result) <= limit) return std::copysign(result, x);
  const bool to_infinity = rounding == Rounding::nearest || (rounding == Rounding::up && x > 0) ||
                           (rounding == Rounding::down && x < 0);
  return std::copysign(to_infinity ? INFINITY : limit, x);
}

double fma_odd(double a, double b, double c) {
  const double product = a * b;  // exact: both factors have at most 24 bits
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double virtual_c = sum - product;
  const double error = (product - (sum - virtual_c)) + (c - virtual_c);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0 || (bits & 1U) != 0) return sum;
  return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

namespace {

std::uint16_t bits_of(double x, const Format& format) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000U : 0U);
  const int fraction_bits = format.precision - 1;
  const unsigned top = (1U << (15 - fraction_bits)) - 1;  // exponent of infinity
  if (std::isnan(x)) return kNan16;
  if (std::isinf(x)) return static_cast<std::uint16_t>(sign | top << fraction_bits);
  const double magnitude = std::fabs(x);
  if (magnitude < std::ldexp(1.0, format.smallest))
    return static_cast<std::uint16_t>(
        sign | static_cast<unsigned>(std::ldexp(magnitude, fraction_bits - format.smallest)));
  const int exponent = std::ilogb(magnitude);
  const auto fraction = static_cast<unsigned>(std::ldexp(magnitude, fraction_bits - exponent)) &
                        ((1U << fraction_bits) - 1);
  return static_cast<std::uint16_t>(
      sign | static_cast<unsigned>(exponent - format.smallest + 1) << fraction_bits | fraction);
}

float value_of_half(std::uint16_t bits) {
  const unsigned exponent = bits >> 10U & 31U;
  const unsigned fraction = bits & 1023U;
  float magnitude = 0;
  if (exponent == 31)
    magnitude = fraction == 0 ? INFINITY : std::bit_cast<float>(kNan32);
  else if (exponent == 0)
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  else
    magnitude = std::ldexp(static_cast<float>(1024 + fraction), static_cast<int>(exponent) - 25);
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

std::array<float, 65536> make_half_table() {
  std::array<float, 65536> table{};
  for (unsigned bits = 0; bits < table.size(); ++bits)
    table[bits] = value_of_half(static_cast<std::uint16_t>(bits));
  return table;
}

}  // namespace

float f16_to_float(std::uint16_t bits) {
  static const std::array<float, 65536> table = make_half_table();
  return table[bits];
}

std::uint16_t f16_of(double exact) { return bits_of(exact, kHalf); }
std::uint16_t bf16_of(double exact) { return bits_of(exact, kBFloat); }

}  // namespace fakecuda
