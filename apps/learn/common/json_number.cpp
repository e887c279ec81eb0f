#include "apps/learn/common/json_number.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace learn::cli {

nlohmann::ordered_json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::round(value * 1e7) / 1e7;
}

nlohmann::ordered_json finite_or_null(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value;
}

nlohmann::ordered_json shortest(float value) {
  if (!std::isfinite(value)) return nullptr;
  return nlohmann::ordered_json::parse(fmt::format("{}", value)).get<double>();
}

}  // namespace learn::cli
