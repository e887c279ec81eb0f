#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

namespace learn {

/// Element types. f64 lives on the CPU only; f16 and bf16 are storage types, arithmetic is f32.
enum class DType : std::uint8_t { f32, f16, bf16, f64, i64, i32, u8 };

/// IEEE 754 binary16 as 16 bits. Conversions are bit-exact, rounding to nearest even, with
/// subnormals, infinities and NaN (payloads are kept as far as they fit, NaN stays NaN).
struct Half {
  std::uint16_t bits = 0;
};

/// bfloat16 as 16 bits: the upper half of an f32, rounded to nearest even.
struct BFloat16 {
  std::uint16_t bits = 0;
};

[[nodiscard]] constexpr float to_float(Half h) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (h.bits >> 10U) & 0x1FU;
  std::uint32_t mantissa = h.bits & 0x3FFU;
  if (exponent == 0x1FU) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13U));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (mantissa << 13U));
  if (mantissa == 0) return std::bit_cast<float>(sign);
  std::uint32_t shift = 0;  // a subnormal half is a normal float: move its leading one into place
  while ((mantissa & 0x400U) == 0) {
    mantissa <<= 1U;
    ++shift;
  }
  return std::bit_cast<float>(sign | ((113U - shift) << 23U) | ((mantissa & 0x3FFU) << 13U));
}

[[nodiscard]] constexpr Half to_half(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16U) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const auto make = [sign](std::uint32_t low) {
    return Half{static_cast<std::uint16_t>(sign | low)};
  };
  if (magnitude > 0x7F800000U) return make(0x7E00U | ((magnitude >> 13U) & 0x3FFU));
  if (magnitude >= 0x47800000U) return make(0x7C00U);  // 2^16 and above, infinity included
  if (magnitude >= 0x38800000U) {                      // normal halves, from 2^-14
    const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13U) & 1U);
    return make((rounded - (112U << 23U)) >> 13U);
  }
  if (magnitude < 0x33000000U) return make(0);  // below half of the smallest subnormal
  const std::uint32_t shift = 126U - (magnitude >> 23U);
  const std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
  const std::uint32_t kept = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
  const std::uint32_t half = 1U << (shift - 1U);
  return make(kept + ((rest > half || (rest == half && (kept & 1U) != 0)) ? 1U : 0U));
}

[[nodiscard]] constexpr float to_float(BFloat16 b) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16U);
}

[[nodiscard]] constexpr BFloat16 to_bfloat16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
    return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U)};
}

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
/// The DType of a C++ element type: `kDType<float> == DType::f32`.
template <class T>
inline constexpr DType kDType = DTypeOf<T>::value;

/// Bytes per element.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

/// The short name: "f32", "bf16", ...
[[nodiscard]] constexpr const char* name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f64:
      return "f64";
    case DType::i64:
      return "i64";
    case DType::i32:
      return "i32";
    case DType::u8:
      return "u8";
  }
  return "?";
}

[[nodiscard]] constexpr bool is_floating(DType dtype) noexcept {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f64;
}

/// True for the two 16-bit floating types.
[[nodiscard]] constexpr bool is_half(DType dtype) noexcept {
  return dtype == DType::f16 || dtype == DType::bf16;
}

/// Calls `f.template operator()<T>()` with the C++ type of a floating `dtype`. Returns false,
/// without a call, if `dtype` is not floating: the caller owns the error's text.
template <class F>
bool visit_floating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      f.template operator()<float>();
      return true;
    case DType::f16:
      f.template operator()<Half>();
      return true;
    case DType::bf16:
      f.template operator()<BFloat16>();
      return true;
    case DType::f64:
      f.template operator()<double>();
      return true;
    default:
      return false;
  }
}

/// Calls `f.template operator()<T>()` with the C++ type of `dtype`.
template <class F>
void visit_dtype(DType dtype, F&& f) {
  if (visit_floating(dtype, f)) return;
  switch (dtype) {
    case DType::i64:
      f.template operator()<std::int64_t>();
      return;
    case DType::i32:
      f.template operator()<std::int32_t>();
      return;
    default:
      f.template operator()<std::uint8_t>();
      return;
  }
}

}  // namespace learn
