#pragma once
#include "framework/core/dtype.h"

#include <concepts>
#include <type_traits>

/// One element of any dtype to and from f32 and double. Halves are rounded from f32 (f64 values are
/// rounded to f32 first: halves never hold more than an f32 computation gave).
namespace learn {

template <class T>
[[nodiscard]] constexpr double as_double(T value) noexcept {
  if constexpr (std::same_as<T, Half> || std::same_as<T, BFloat16>)
    return static_cast<double>(to_float(value));
  else
    return static_cast<double>(value);
}

template <class T>
[[nodiscard]] constexpr T from_double(double value) noexcept {
  if constexpr (std::same_as<T, Half>)
    return to_half(static_cast<float>(value));
  else if constexpr (std::same_as<T, BFloat16>)
    return to_bfloat16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <class T>
[[nodiscard]] constexpr float as_float(T value) noexcept {
  if constexpr (std::same_as<T, Half> || std::same_as<T, BFloat16>)
    return to_float(value);
  else
    return static_cast<float>(value);
}

template <class T>
[[nodiscard]] constexpr T from_float(float value) noexcept {
  if constexpr (std::same_as<T, Half>)
    return to_half(value);
  else if constexpr (std::same_as<T, BFloat16>)
    return to_bfloat16(value);
  else
    return static_cast<T>(value);
}

}  // namespace learn
