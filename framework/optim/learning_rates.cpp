#include "framework/optim/learning_rates.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cmath>

namespace learn::optim {

LearningRates range(double first, double last) {
  return {LearningRates::Kind::range, {first, last}};
}

LearningRates last_group(double rate) { return {LearningRates::Kind::last, {rate}}; }

std::vector<float> LearningRates::spread(int groups) const {
  check<UsageError>(groups >= 1, "a model must have at least one layer group, not {}", groups);
  for (const double rate : rates_)
    if (!std::isfinite(rate) || rate < 0)
      fail<UsageError>("a learning rate must be finite and not negative, not {}", rate);
  const auto n = static_cast<std::size_t>(groups);
  const double last = rates_.empty() ? 0 : rates_.back();
  std::vector<float> out(n, static_cast<float>(last));
  if (kind_ == Kind::list) {
    check<UsageError>(rates_.size() == n,
                      "{} learning rates for {} layer groups: give one number for all, "
                      "range(first, last), or {} numbers",
                      rates_.size(),
                      groups,
                      groups);
    out.assign(rates_.begin(), rates_.end());
  }
  if (kind_ == Kind::last) std::fill(out.begin(), out.end() - 1, static_cast<float>(last / 10));
  if (kind_ != Kind::range) return out;
  const double first = rates_.front();
  check<UsageError>(first > 0 && last > 0,
                    "a range of learning rates must be positive to be geometric, not {} to {}",
                    first,
                    last);
  for (std::size_t g = 0; g + 1 < n; ++g)
    out[g] = static_cast<float>(
        first * std::pow(last / first, static_cast<double>(g) / static_cast<double>(n - 1)));
  return out;
}

}  // namespace learn::optim
