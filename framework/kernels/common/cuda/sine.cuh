#pragma once
#include "framework/kernels/common/sine_polynomial.h"

#include <cstdint>

/// Sine and cosine in f32 without local memory, which the toolkit's functions need for large
/// arguments.
namespace learn::cuda::device {

/// The angle `quarters` * pi / 2 + `rest`, |rest| <= pi/4.
struct Angle {
  std::uint32_t quarters;
  float rest;
};

/// Returns word `k` of 2/pi in binary: 2/pi is the sum of word(k) * 2^(-32 k).
__device__ inline std::uint32_t word_of_two_over_pi(int k) {
  return k == 0   ? 0
         : k == 1 ? 0xA2F9836EU
         : k == 2 ? 0x4E441529U
         : k == 3 ? 0xFC2757D1U
         : k == 4 ? 0xF534DDC0U
         : k == 5 ? 0xDB629599U
         : k == 6 ? 0x3C439041U
                  : 0xFE5163ABU;
}

/// Reduces any finite |x| >= 1. Only those bits of 2/pi count that contribute to the fraction of
/// x * 2/pi or to the last two bits of its integer part (Payne and Hanek, 1983).
__device__ inline Angle reduce_by_bits(float x) {
  const std::uint32_t bits = __float_as_uint(x);
  // |x| = m * 2^(at - 30). 2/pi is shifted by `at` bits, so that the product starts at the binary
  // point of x / (2 pi).
  const std::uint32_t m = (bits & 0x007FFFFFU) | 0x00800000U;
  const int at = static_cast<int>(bits >> 23U & 0xFFU) - 150 + 30;
  const int k = at / 32;
  const int shift = at % 32;
  const std::uint32_t a = word_of_two_over_pi(k);
  const std::uint32_t b = word_of_two_over_pi(k + 1);
  const std::uint32_t c = word_of_two_over_pi(k + 2);
  const std::uint32_t d = word_of_two_over_pi(k + 3);
  const auto moved = [&](std::uint32_t high, std::uint32_t low) {
    return static_cast<std::uint32_t>(((static_cast<std::uint64_t>(high) << 32U) | low) >>
                                      (32 - shift));
  };
  const std::uint64_t product = (static_cast<std::uint64_t>(m) * moved(a, b) << 32U) +
                                static_cast<std::uint64_t>(m) * moved(b, c) +
                                (static_cast<std::uint64_t>(m) * moved(c, d) >> 32U);
  const std::uint64_t quarters = (product + (std::uint64_t{1} << 61U)) >> 62U;
  const auto rest = static_cast<std::int64_t>(product - (quarters << 62U));
  const float magnitude = static_cast<float>(rest) * 0x1.921fb6p-62F;  // pi / 2 in units of 2^62
  return bits >> 31U == 0 ? Angle{static_cast<std::uint32_t>(quarters), magnitude}
                          : Angle{0U - static_cast<std::uint32_t>(quarters), -magnitude};
}

__device__ inline Angle reduce_angle(float x) {
  if (fabsf(x) > 8192.0F && isfinite(x)) return reduce_by_bits(x);
  const float n = rintf(x * 0.636619772F);
  // Parts of pi / 2; fmaf adds n times each part without rounding the product.
  float rest = fmaf(-n, 0x1.921fb6p+0F, x);
  rest = fmaf(-n, -0x1.777a5cp-25F, rest);
  rest = fmaf(-n, -0x1.ee59dap-50F, rest);
  return {static_cast<std::uint32_t>(static_cast<int>(n)), rest};
}

/// Returns the sine of x plus `more` quarters.
__device__ inline float sine(float x, std::uint32_t more) {
  const Angle angle = reduce_angle(x);
  return sine_polynomial(angle.rest, angle.quarters + more);
}

}  // namespace learn::cuda::device
