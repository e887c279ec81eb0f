#pragma once
#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace learn::cli {

/// Between the labels of an image in a column of a CSV file, as `--label-delim` reads them.
inline constexpr std::string_view kLabelDelim = ";";

/// Adds "probability NAME" of each class or label.
void add_probability_columns(std::vector<std::string>& header,
                             const std::vector<std::string>& names);
/// Returns them as an object, by name, with the digits of `rounded`.
[[nodiscard]] nlohmann::ordered_json probabilities_by_name(const std::vector<std::string>& names,
                                                           std::span<const double> probabilities);

}  // namespace learn::cli
