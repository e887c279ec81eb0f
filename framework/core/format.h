#pragma once
#include "framework/core/device.h"
#include "framework/core/dtype.h"
#include "framework/core/shape.h"

#include <fmt/core.h>

#include <string>

namespace learn {

/// "(64,32,32,3)"; "()" for a scalar.
[[nodiscard]] std::string to_string(const Shape& shape);
/// "cpu" or "cuda:0".
[[nodiscard]] std::string to_string(Device device);

}  // namespace learn

template <>
struct fmt::formatter<learn::Shape> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const learn::Shape& shape, Context& ctx) const {
    const std::string text = learn::to_string(shape);
    return fmt::formatter<fmt::string_view>::format(text, ctx);
  }
};
template <>
struct fmt::formatter<learn::DType> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(learn::DType dtype, Context& ctx) const {
    return fmt::formatter<fmt::string_view>::format(learn::name_of(dtype), ctx);
  }
};
template <>
struct fmt::formatter<learn::Device> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(learn::Device device, Context& ctx) const {
    const std::string text = learn::to_string(device);
    return fmt::formatter<fmt::string_view>::format(text, ctx);
  }
};
