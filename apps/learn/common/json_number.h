#pragma once
#include <nlohmann/json_fwd.hpp>

namespace learn::cli {

/// A probability or a loss with its significant digits; null if it is not finite, because JSON has
/// no NaN.
[[nodiscard]] nlohmann::ordered_json rounded(double value);
/// A number with all its digits; null if it is not finite.
[[nodiscard]] nlohmann::ordered_json finite_or_null(double value);
/// A float with the fewest digits that reproduce it, not those of its double; null if it is not
/// finite.
[[nodiscard]] nlohmann::ordered_json shortest(float value);

}  // namespace learn::cli
