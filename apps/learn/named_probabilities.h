#pragma once
#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <vector>

namespace learn::cli {

/// Adds "probability NAME" of each class or label.
void add_probability_columns(std::vector<std::string>& header,
                             const std::vector<std::string>& names);
/// The same as an object, by name, with the digits of `rounded`.
[[nodiscard]] nlohmann::ordered_json probabilities_by_name(const std::vector<std::string>& names,
                                                           std::span<const double> probabilities);

}  // namespace learn::cli
