#pragma once
#include <bit>
#include <cstdint>
#include <limits>

/// The exponential function and the logarithm in f32 as plain arithmetic, which gives the same bits
/// on any device that neither fuses nor reorders operations.
namespace learn {

/// Returns e^x with a relative error below 2 units in the last place, for x from -87.3365 to
/// 88.7228; other numbers give any result. Uses range reduction to |r| <= ln2/2 and a degree-6
/// polynomial (coefficients from Cephes' expf).
[[nodiscard]] constexpr float exp_polynomial(float x) {
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  constexpr float kRounder = 0x1.8p23F;
  const float shifted = x * 1.44269504F + kRounder;
  const float n = shifted - kRounder;
  const float r = x - n * 0.693359375F - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1;
  // p * 2^n: n is added to the exponent.
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) +
                              (std::bit_cast<std::uint32_t>(shifted) << 23U));
}

/// A positive finite number, 2^exponent * (1 + rest), with 1 + rest from sqrt(1/2) to sqrt(2).
struct BinaryParts {
  float exponent, rest;
};
[[nodiscard]] constexpr BinaryParts binary_parts(float x) {
  constexpr std::uint32_t kRootHalf = 0x3F3504F3U;
  const bool tiny = x < 0x1p-126F;
  const std::uint32_t bits =
      std::bit_cast<std::uint32_t>(tiny ? x * 0x1p23F : x) + (0x3F800000U - kRootHalf);
  return {static_cast<float>(static_cast<std::int32_t>(bits >> 23U) - 127) - (tiny ? 23.0F : 0.0F),
          std::bit_cast<float>((bits & 0x007FFFFFU) + kRootHalf) - 1};
}

/// Returns the natural logarithm with a relative error below 2 units in the last place, also for
/// subnormal numbers. log(0) is -infinity, and a negative number gives NaN. From Cephes' logf.
[[nodiscard]] constexpr float log_polynomial(float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto [n, m] = binary_parts(x);
  const float square = m * m;
  float p = 7.0376836292e-2F;
  p = p * m - 1.1514610310e-1F;
  p = p * m + 1.1676998740e-1F;
  p = p * m - 1.2420140846e-1F;
  p = p * m + 1.4249322787e-1F;
  p = p * m - 1.6668057665e-1F;
  p = p * m + 2.0000714765e-1F;
  p = p * m - 2.4999993993e-1F;
  p = p * m + 3.3333331174e-1F;
  const float rest = p * m * square - n * 2.12194440e-4F - 0.5F * square;
  const float finite = m + rest + n * 0.693359375F;
  const float positive = x < kInfinity ? finite : x;
  const float other = x == 0 ? -kInfinity : std::numeric_limits<float>::quiet_NaN();
  return x > 0 ? positive : other;
}

}  // namespace learn
