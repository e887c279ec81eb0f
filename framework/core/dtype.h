#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace learn {

/// Element types. f64 is supported only on the CPU; f16 and bf16 are storage types, arithmetic is
/// f32.
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

// The conversions select instead of branching, so that loops over them vectorize.

[[nodiscard]] constexpr float to_float(Half h) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000U) << 16U;
  const std::uint32_t shifted = static_cast<std::uint32_t>(h.bits & 0x7FFFU) << 13U;
  const std::uint32_t exponent = shifted & 0x0F800000U;
  const std::uint32_t normal = shifted + (112U << 23U);
  const std::uint32_t special = shifted + (224U << 23U);  // infinity and NaN
  // Exponent 0 means exponent 1 without the leading one: use 1 and subtract the one.
  const auto subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(normal + (1U << 23U)) - 0x1p-14F);
  const std::uint32_t finite = exponent == 0 ? subnormal : normal;
  return std::bit_cast<float>(sign | (exponent == 0x0F800000U ? special : finite));
}

[[nodiscard]] constexpr Half to_half(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t odd = (magnitude >> 13U) & 1U;
  const std::uint32_t normal = (magnitude - (112U << 23U) + 0xFFFU + odd) >> 13U;
  // Next to 0.5 floats are 2^-24 apart, like subnormal halves: the addition does the rounding.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  const std::uint32_t finite = magnitude < 0x38800000U ? subnormal : normal;  // below 2^-14
  const std::uint32_t nan = 0x7E00U | ((magnitude >> 13U) & 0x3FFU);
  const std::uint32_t special = magnitude > 0x7F800000U ? nan : 0x7C00U;
  // From 2^16 on everything is infinite; just below, rounding itself carries into infinity.
  return {static_cast<std::uint16_t>(sign | (magnitude >= 0x47800000U ? special : finite))};
}

[[nodiscard]] constexpr float to_float(BFloat16 b) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16U);
}

[[nodiscard]] constexpr BFloat16 to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t nan = (bits >> 16U) | 0x40U;
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
  return {static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? nan : rounded)};
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

/// The type sums, statistics and losses of `T` values are kept in: f64 for f64, f32 for the rest.
template <class T>
using WideType = std::conditional_t<std::is_same_v<T, double>, double, float>;

[[nodiscard]] constexpr DType wide_dtype(DType dtype) noexcept {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

}  // namespace learn

/// Expands to `DO(T)` for each element type that the CPU and CUDA kernels are compiled for.
#define LEARN_FOR_EACH_TYPE(DO) DO(float) DO(Half) DO(BFloat16)
