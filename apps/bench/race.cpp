#include "apps/bench/race.h"

#include "apps/experiment/experiment.h"
#include "framework/core/log.h"
#include "framework/core/seconds_since.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace learn::bench {
namespace {

/// Measures the time of the training passes, without validation but with the plans and graphs made
/// on the way. The loop has waited for the device by the end of a pass.
class RaceClock final : public Callback {
 public:
  RaceClock(Race& race, double target) : race_(race), target_(target) {}
  [[nodiscard]] std::string_view name() const override { return "race_clock"; }
  void train_begin(Learner&) override { mark_ = Clock::now(); }
  /// Records in each batch, because the training may end at any of them.
  void batch_end(Learner& learn) override {
    if (!learn.progress().training) return;
    race_.kept_bytes = static_cast<std::int64_t>(learn.context().persistent().stats().used);
    race_.step_bytes = static_cast<std::int64_t>(learn.context().step().stats().peak);
  }
  void validate_begin(Learner&) override { race_.seconds += seconds_since(mark_); }
  void validate_end(Learner& learn) override {
    race_.accuracy.push_back(learn.results().metrics.at(0).second);
    if (!race_.seconds_to_target && race_.accuracy.back() >= target_) {
      race_.seconds_to_target = race_.seconds;
      race_.epochs_to_target = static_cast<std::int64_t>(race_.accuracy.size());
    }
    mark_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Race& race_;
  double target_;
  Clock::time_point mark_;
};

}  // namespace

Race race(const ExperimentOptions& options, double target) {
  const std::int64_t epochs = options.training.epochs;
  Experiment experiment(options);
  Race race{.headline = experiment.headline()};
  experiment.learner().add<RaceClock>(race, target);
  try {
    experiment.fit();
  } catch (const DivergedError& e) {
    log::warn("{}", e.what());  // a result as well, with the values so far
    return race;
  }
  const auto done = static_cast<std::int64_t>(race.accuracy.size());
  race.finished = done == epochs && std::isfinite(experiment.learner().results().train_loss);
  race.images_per_s = static_cast<double>(experiment.data().train.size() * done) / race.seconds;
  return race;
}

Spread spread_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  const auto n = static_cast<double>(values.size());
  double squares = 0;
  for (const double v : values) squares += (v - sum / n) * (v - sum / n);
  return {.mean = sum / n,
          .deviation = n > 1 ? std::sqrt(squares / (n - 1)) : 0,
          .least = std::ranges::min(values),
          .most = std::ranges::max(values)};
}

}  // namespace learn::bench
