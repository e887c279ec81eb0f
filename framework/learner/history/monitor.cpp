#include "framework/learner/history/monitor.h"

#include "framework/learner/learner.h"

#include <cmath>
#include <limits>

namespace learn {

namespace {

/// Losses and errors, the calibration error and those of real numbers among them.
bool named_as_loss(std::string_view name) {
  if (name.starts_with("train_")) name.remove_prefix(std::string_view("train_").size());
  if (name == "mae" || name == "rmse") return true;
  return name.find("loss") != std::string_view::npos ||
         name.find("error") != std::string_view::npos || name == "ece" || name.starts_with("ece_");
}

}  // namespace

std::vector<std::pair<std::string, Better>> better_by_name() {
  return {{"auto", Better::automatic}, {"min", Better::lower}, {"max", Better::higher}};
}

Monitor::Monitor(std::string name, Better better, double min_delta)
    : name_(std::move(name)), min_delta_(min_delta) {
  check<UsageError>(std::isfinite(min_delta) && min_delta >= 0,
                    "min_delta must be finite and not negative, got {}",
                    min_delta);
  lower_ = better == Better::automatic ? named_as_loss(name_) : better == Better::lower;
}

void Monitor::check_known(const Learner& learn) const {
  if (name_ == "train_loss") return;
  std::string known = "train_loss";
  const bool validates = learn.valid_source() != nullptr;
  if (validates && name_ == "valid_loss") return;
  if (validates) known += ", valid_loss";
  for (const std::string& metric : learn.metric_names()) {
    if (!validates && !metric.starts_with("train_")) continue;
    if (metric == name_) return;
    known += ", " + metric;
  }
  fail<UsageError>("unknown value '{}' to monitor; known values: {}", name_, known);
}

double Monitor::value(const Learner& learn) const {
  const PassResults& results = learn.results();
  if (name_ == "train_loss") return results.train_loss;
  if (name_ == "valid_loss") return results.valid_loss;
  for (const auto* metrics : {&results.train_metrics, &results.metrics})
    for (const auto& [name, value] : *metrics)
      if (name == name_) return value;
  return std::numeric_limits<double>::quiet_NaN();
}

bool Monitor::improves(double value) {
  if (!std::isfinite(value)) return false;
  const bool better =
      !best_ || (lower_ ? value < *best_ - min_delta_ : value > *best_ + min_delta_);
  if (better) best_ = value;
  return better;
}

void Monitor::visit_state(StateVisitor& visitor) {
  bool known = best_.has_value();
  double best = best_.value_or(0);
  visitor.visit("known", known);
  visitor.visit("best", best, known ? kFiniteLimits : RealLimits{.high = 0});
  if (visitor.loading()) best_ = known ? std::optional(best) : std::nullopt;
}

}  // namespace learn
