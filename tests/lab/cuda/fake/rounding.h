#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

/// Floating formats and roundings, written from IEEE 754 and independent of the tested code.
namespace fakecuda {

enum class Rounding { nearest, zero, down, up };

/// A binary format: bits of the significand with the hidden one, and the exponents of the smallest
/// normal and the largest number.
struct Format {
  int precision;
  int smallest;
  int largest;
};
inline constexpr Format kHalf{11, -14, 15};
inline constexpr Format kBFloat{8, -126, 127};
inline constexpr Format kSingle{24, -126, 127};

/// The value of `format` that `x` rounds to, as a double; infinities and NaN pass through.
[[nodiscard]] double round_to(double x, const Format& format, Rounding rounding);
/// The double nearest to the exact a * b + c that, if inexact, has an odd last bit: rounding it
/// once more to a much shorter format gives what rounding the exact value once would give.
[[nodiscard]] double fma_odd(double a, double b, double c);

[[nodiscard]] std::uint16_t f16_of(double exact);   ///< of a double that is an f16's value
[[nodiscard]] std::uint16_t bf16_of(double exact);  ///< of a double that is a bf16's value

[[nodiscard]] inline float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}
[[nodiscard]] float f16_to_float(std::uint16_t bits);

/// Subnormal numbers become zeros of the same sign: the .ftz modifier.
[[nodiscard]] inline float flush(float x) {
  constexpr float kSmallest = 1.17549435e-38F;
  return std::fabs(x) < kSmallest ? std::copysign(0.0F, x) : x;
}

/// The hardware's result for every NaN.
inline constexpr std::uint32_t kNan32 = 0x7FFFFFFFU;
inline constexpr std::uint16_t kNan16 = 0x7FFFU;

[[nodiscard]] inline float canonical(float x) { return x == x ? x : std::bit_cast<float>(kNan32); }

}  // namespace fakecuda
