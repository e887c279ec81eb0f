#pragma once
#include "framework/core/device.h"
#include "framework/core/dtype.h"
#include "framework/core/shape.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// "(64,32,32,3)"; "()" for a scalar.
[[nodiscard]] std::string to_string(const Shape& shape);
/// "cpu" or "cuda:0".
[[nodiscard]] std::string to_string(Device device);

/// The words with `between` in between. `fmt::join` would compile fmt's engine into the object.
[[nodiscard]] std::string join(std::span<const std::string> words, std::string_view between = ", ");
[[nodiscard]] std::string join(std::span<const std::int64_t> numbers,
                               std::string_view between = ",");
/// "a, b or c".
[[nodiscard]] std::string join_or(std::span<const std::string> words);
/// "a, b and 4 more": the first `most` words and the number of the others.
[[nodiscard]] std::string join_some(std::span<const std::string> words, std::size_t most);
/// "12 %", and with two digits below 10 %: "0.42 %".
[[nodiscard]] std::string percent(double share);
/// The lines of a text, empty ones too, without their ends.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view text);

}  // namespace learn

/// Defined out of line, so that headers need `fmt/core.h` only, which is five times lighter.
#define LEARN_FORMATTER(Type)                                                              \
  template <>                                                                              \
  struct fmt::formatter<Type> {                                                            \
    constexpr auto parse(format_parse_context& ctx) { return ctx.begin(); }                \
    auto format(const Type& value, format_context& ctx) const -> format_context::iterator; \
  }
LEARN_FORMATTER(learn::Shape);
LEARN_FORMATTER(learn::DType);
LEARN_FORMATTER(learn::Device);
#undef LEARN_FORMATTER
