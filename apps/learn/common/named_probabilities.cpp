#include "apps/learn/common/named_probabilities.h"

#include "apps/learn/common/json_number.h"

#include <nlohmann/json.hpp>

namespace learn::cli {

void add_probability_columns(std::vector<std::string>& header,
                             const std::vector<std::string>& names) {
  for (const std::string& name : names) header.push_back("probability " + name);
}

nlohmann::ordered_json probabilities_by_name(const std::vector<std::string>& names,
                                             std::span<const double> probabilities) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < names.size(); ++i) all[names[i]] = rounded(probabilities[i]);
  return all;
}

}  // namespace learn::cli
