#include "framework/optim/schedule.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace learn::optim::schedules {

Schedule constant(double value) {
  return [value](double) { return value; };
}

Schedule linear(double start, double end) {
  return [start, end](double t) { return start + (end - start) * t; };
}

Schedule cosine(double start, double end) {
  return [start, end](double t) {
    return end + (start - end) / 2 * (1 + std::cos(std::numbers::pi * t));
  };
}

Schedule exponential(double start, double end) {
  if (!(start > 0) || !(end > 0))
    fail<UsageError>("an exponential schedule needs positive values, not {} to {}", start, end);
  return [start, end](double t) { return start * std::pow(end / start, t); };
}

Schedule polynomial(double start, double end, double power) {
  if (!(power > 0)) fail<UsageError>("a polynomial schedule needs a positive power, not {}", power);
  return [start, end, power](double t) { return end + (start - end) * std::pow(1 - t, power); };
}

Schedule combine(const std::vector<double>& pcts, const std::vector<Schedule>& parts) {
  if (pcts.empty() || pcts.size() != parts.size())
    fail<UsageError>("combined schedule: {} shares for {} schedules", pcts.size(), parts.size());
  for (const double pct : pcts)
    if (!(pct >= 0)) fail<UsageError>("combined schedule: a share of {} is negative", pct);
  const double sum = std::accumulate(pcts.begin(), pcts.end(), 0.0);
  // Shares such as 1/3 add up to 1 except for rounding.
  if (std::abs(sum - 1) > 1e-6)
    fail<UsageError>("combined schedule: the shares add up to {}, not to 1", sum);
  return [pcts, parts](double t) {
    // Shares such as three fifths add up to slightly more than 1, but a part must not start a batch
    // late. Two batches of a real training are never that close.
    constexpr double kRounding = 1e-12;
    // The last part that has started; parts of length 0 are skipped.
    double begin = 0;
    std::size_t at = 0;
    double at_begin = 0;
    for (std::size_t i = 0; i < pcts.size(); ++i) {
      if (pcts[i] > 0 && t >= begin - kRounding) {
        at = i;
        at_begin = begin;
      }
      begin += pcts[i];
    }
    return parts[at](std::clamp((t - at_begin) / pcts[at], 0.0, 1.0));
  };
}

Schedule piecewise(const std::vector<double>& milestones, const std::vector<double>& values) {
  if (values.size() != milestones.size() + 1)
    fail<UsageError>("piecewise schedule: {} milestones need {} values, not {}",
                     milestones.size(),
                     milestones.size() + 1,
                     values.size());
  if (!std::is_sorted(milestones.begin(), milestones.end()) ||
      (!milestones.empty() && !(milestones.front() >= 0 && milestones.back() <= 1)))
    fail<UsageError>("piecewise schedule: milestones must ascend within [0, 1]");
  return [milestones, values](double t) {
    const auto passed = std::upper_bound(milestones.begin(), milestones.end(), t);
    return values[static_cast<std::size_t>(passed - milestones.begin())];
  };
}

}  // namespace learn::optim::schedules
