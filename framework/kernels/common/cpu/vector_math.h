#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

/// Transcendental functions as branch-free f32 arithmetic, which vectorises inside `simd::run`. The
/// library's are calls, one element at a time.
namespace learn::cpu {

/// e^x with a relative error below 2 units in the last place. Infinite from 88.4 on, 2^-126 or
/// less below -87.3; NaN stays NaN. Range reduction to |r| <= ln2/2 and a degree-6 polynomial
/// (coefficients as in Cephes' expf).
[[nodiscard]] inline float vexp(float x) {
  const float high = x > 89.0F ? 89.0F : x;
  const float clamped = high < -87.3F ? -87.3F : high;
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  constexpr float kRounder = 0x1.8p23F;
  const float shifted = clamped * 1.44269504F + kRounder;
  const float n = shifted - kRounder;
  const float r = clamped - n * 0.693359375F - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1;
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) + 127U) << 23U;
  return p * std::bit_cast<float>(power);
}

/// The normal distribution's Phi(x) = erfc(-x / sqrt 2) / 2, with an absolute error below 2^-22:
/// the Chebyshev form of erfc in Numerical Recipes (2nd edition, 6.2), whose relative error is
/// below 1.2e-7.
[[nodiscard]] inline float vnormal_cdf(float x) {
  const float z = std::fabs(x) * 0.707106781F;
  const float t = 1 / (1 + 0.5F * z);
  float p = 0.17087277F;
  p = p * t - 0.82215223F;
  p = p * t + 1.48851587F;
  p = p * t - 1.13520398F;
  p = p * t + 0.27886807F;
  p = p * t - 0.18628806F;
  p = p * t + 0.09678418F;
  p = p * t + 0.37409196F;
  p = p * t + 1.00002368F;
  p = p * t - 1.26551223F;
  const float tail = 0.5F * t * vexp(p - 0.5F * x * x);
  return x < 0 ? tail : 1 - tail;
}

}  // namespace learn::cpu
