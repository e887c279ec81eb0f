#include "data/loading/interval.h"

#include "framework/core/error.h"
#include "framework/core/options/option_table.h"

#include <fmt/core.h>

namespace learn::data {

Interval::Interval(const std::string& text) {
  const std::size_t colon = text.find(':');
  low = static_cast<float>(parse_real(text.substr(0, colon), kAnyNumber));
  high = colon == std::string::npos
             ? low
             : static_cast<float>(parse_real(text.substr(colon + 1), kAnyNumber));
  check<UsageError>(low <= high, "the second number must not be smaller than the first");
}

std::string Interval::text() const {
  return low == high ? fmt::format("{}", low) : fmt::format("{}:{}", low, high);
}

}  // namespace learn::data
