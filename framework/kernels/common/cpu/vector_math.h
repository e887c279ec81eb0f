#pragma once
#include "framework/kernels/common/exp_log_polynomials.h"
#include "framework/kernels/common/sine_polynomial.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

/// Transcendental functions as branch-free f32 arithmetic, which vectorizes inside `simd::run`. The
/// library's functions are calls that process one element at a time.
namespace learn::cpu {

/// Returns e^x with a relative error below 2 units in the last place. It is infinite above 88.7228,
/// like C's function. Below -87.3365 it is 0, although the result would be subnormal, because many
/// processors compute subnormal numbers some thirty times slower. NaN stays NaN.
[[nodiscard]] inline float vexp(float x) {
  const float inside = exp_polynomial(x);
  const float above = x * std::numeric_limits<float>::infinity();  // also NaN
  const float bounded = x <= 88.72283F ? inside : above;
  return x < -87.33654F ? 0.0F : bounded;
}

/// Returns e^(-x^2/2), 0 for |x| above 13. NaN gives a number.
[[nodiscard]] inline float vbell(float x) {
  return std::fabs(x) <= 13 ? exp_polynomial(-0.5F * x * x) : 0;
}

/// Returns the normal distribution's Phi(x) = erfc(-x / sqrt 2) / 2 with an absolute error below
/// 2^-22. Uses the Chebyshev form of erfc in Numerical Recipes (2nd edition, 6.2), whose relative
/// error is below 1.2e-7. NaN gives a number, and the tail beyond 13 is 0.
[[nodiscard]] inline float vnormal_cdf(float x) {
  const float t = 1 / (1 + 0.353553391F * std::fabs(x));
  // In pairs: one term after the other would be a long chain of latencies.
  const float square = t * t;
  const float high = (0.17087277F * t - 0.82215223F) * square + (1.48851587F * t - 1.13520398F);
  const float middle = (0.27886807F * t - 0.18628806F) * square + (0.09678418F * t + 0.37409196F);
  const float low = 1.00002368F * t - 1.26551223F;
  const float p = (high * (square * square) + middle) * square + low;
  const float inside = 0.5F * t * exp_polynomial(p - 0.5F * x * x);
  const float tail = std::fabs(x) <= 13 ? inside : 0;
  return x < 0 ? tail : 1 - tail;
}

/// Returns the natural logarithm.
[[nodiscard]] inline float vlog(float x) { return log_polynomial(x); }

/// Returns log(1 + x), accurate for small x too.
[[nodiscard]] inline float vlog1p(float x) {
  const float u = 1 + x;
  const float lost = (x - (u - 1)) / u;  // the part that rounding lost in 1 + x, relative to it
  const float log = vlog(u);
  return u > 0 && u < std::numeric_limits<float>::infinity() ? log + lost : log;
}

/// Returns the power as C's pow does, for all numbers, with an error below 0.6 units in the last
/// place. |x|^y = 2^(y * log2 |x|) in double, where the logarithm has a relative error below 2^-34.
[[nodiscard]] inline float vpow(float x, float y) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float magnitude = std::fabs(x);
  const auto [n, rest] = binary_parts(magnitude);
  const float ends = magnitude < kInfinity ? n : magnitude;  // also NaN
  const float exponent = magnitude == 0 ? -kInfinity : ends;
  const double m = rest;
  double log = 0x1.35673bb33fc05p-4;
  log = log * m - 0x1.21af6d5ddd93cp-3;
  log = log * m + 0x1.28dbd2cf0a272p-3;
  log = log * m - 0x1.25de4aa3aaf85p-3;
  log = log * m + 0x1.453051c8c9c33p-3;
  log = log * m - 0x1.7131ef80d3e2cp-3;
  log = log * m + 0x1.a63df11f4d312p-3;
  log = log * m - 0x1.ec7352cb89bf3p-3;
  log = log * m + 0x1.277658c21e745p-2;
  log = log * m - 0x1.71546f4871651p-2;
  log = log * m + 0x1.ec709ea6a0c5ep-2;
  log = log * m - 0x1.715476572cc31p-1;
  log = log * m + 0x1.71547652a44dbp+0;
  const double power = y * (log * m + exponent);
  // The ends are beyond all f32, so that the conversion makes them 0 and infinity.
  const double above = power > 300 ? 300 : power;
  const double bounded = above < -300 ? -300 : above;
  constexpr double kRounder = 0x1.8p52;
  const double shifted = bounded + kRounder;
  const double r = bounded - (shifted - kRounder);
  double p = 0x1.443fffc90db59p-13;
  p = p * r + 0x1.5f48c04f62e50p-10;
  p = p * r + 0x1.3b2a1b7152befp-7;
  p = p * r + 0x1.c6aecc669b6ddp-5;
  p = p * r + 0x1.ebfbe045f4d3cp-3;
  p = p * r + 0x1.62e430d034702p-1;
  p = p * r + 1;
  const double scale =
      std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023U) << 52U);
  const auto root = static_cast<float>(p * scale);
  // An odd exponent keeps the sign of x. Without a whole one, a negative x has no power. From 2^24
  // on all numbers are even.
  const float size = std::fabs(y);
  const float capped = size < 0x1p24F ? size : 0x1p24F;
  const auto whole = static_cast<std::int32_t>(capped);
  const bool is_whole = static_cast<float>(whole) == capped;
  const std::uint32_t sign =
      std::bit_cast<std::uint32_t>(x) & (static_cast<std::uint32_t>(whole) << 31U);
  const float of_whole = std::bit_cast<float>(std::bit_cast<std::uint32_t>(root) | sign);
  const float of_finite = x > -kInfinity ? std::numeric_limits<float>::quiet_NaN() : root;
  const float of_fraction = x < 0 ? of_finite : root;
  const float result = is_whole ? of_whole : of_fraction;
  const float base = size == kInfinity ? magnitude : x;
  const float other = base == 1 ? 1 : result;
  return y == 0 ? 1 : other;
}

/// The largest magnitude that `vsin` and `vcos` accept.
inline constexpr float kVsinMost = 8192;

/// Returns the sine of x + quarters * pi / 2.
[[nodiscard]] inline float vsin_of_quarter(float x, std::uint32_t quarters) {
  constexpr float kRounder = 0x1.8p23F;
  const float shifted = x * 0.636619772F + kRounder;
  const float n = shifted - kRounder;
  // Parts of pi / 2 so short that n times each of the first three is exact.
  const float r = x - n * 0x1.92p+0F - n * 0x1.fb4p-12F - n * 0x1.444p-24F - n * 0x1.68c234p-39F;
  return sine_polynomial(r, std::bit_cast<std::uint32_t>(shifted) + quarters);
}

/// Return the sine and cosine of numbers up to `kVsinMost` with an error below 2^-23, and below 2
/// units in the last place of the result where x is small; NaN gives NaN. Range reduction to |r| <=
/// pi/4.
[[nodiscard]] inline float vsin(float x) { return vsin_of_quarter(x, 0); }
[[nodiscard]] inline float vcos(float x) { return vsin_of_quarter(x, 1); }

/// Returns the hyperbolic tangent with a relative error below 4 units in the last place. From
/// Cephes' tanhf.
[[nodiscard]] inline float vtanh(float x) {
  const float magnitude = std::fabs(x);
  const float s = x * x;
  float p = -5.70498872745e-3F;
  p = p * s + 2.06390887954e-2F;
  p = p * s - 5.37397155531e-2F;
  p = p * s + 1.33314422036e-1F;
  p = p * s - 3.33332819422e-1F;
  const float small = p * s * x + x;
  const float large = 1 - 2 / (vexp(2 * magnitude) + 1);
  const float signed_large = x < 0 ? -large : large;
  return magnitude < 0.625F ? small : signed_large;
}

}  // namespace learn::cpu
