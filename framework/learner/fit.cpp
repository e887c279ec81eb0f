// The ways to train: a plain fit, and the two policies that schedule it.
#include "framework/learner/learner.h"
#include "framework/learner/param_scheduler.h"

#include <utility>

namespace learn {
namespace {

namespace schedules = optim::schedules;

/// A callback that is part of a learner for as long as this object lives.
class Temporary {
 public:
  Temporary(Learner& learn, ParamScheduler& callback) : learn_(learn), callback_(callback) {}
  ~Temporary() { learn_.remove(callback_); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

 private:
  Learner& learn_;
  ParamScheduler& callback_;
};

}  // namespace

void Learner::fit(std::int64_t epochs, const LearningRates& lrs) {
  require_idle("fit");
  if (epochs < 0) fail<UsageError>("fit: {} epochs; the count cannot be negative", epochs);
  if (train_.batches() <= 0) fail<UsageError>("fit: the training source has no batches");
  optimizer_->set_lrs(lrs);
  run_activity(Activity::fit, [&] { train(epochs); });
}

void Learner::fit_one_cycle(std::int64_t epochs,
                            const LearningRates& lr_max,
                            const OneCycleOptions& options) {
  ScheduledHyper lr{Hyper::lr, {}};
  ScheduledHyper momentum{Hyper::momentum, {}};
  for (const float top : lr_max.spread(params().layer_groups())) {
    const schedules::OneCycle cycle = schedules::one_cycle(static_cast<double>(top), options);
    lr.schedules.push_back(cycle.lr);
    momentum.schedules.push_back(cycle.momentum);
  }
  const Temporary schedule(
      *this, add<ParamScheduler>(std::vector{lr, momentum}, Clock::batch, "one_cycle"));
  fit(epochs, lr_max);
}

void Learner::fit_flat_cos(std::int64_t epochs,
                           const LearningRates& lrs,
                           double div_final,
                           double pct_start) {
  ScheduledHyper lr{Hyper::lr, {}};
  for (const float flat : lrs.spread(params().layer_groups()))
    lr.schedules.push_back(schedules::flat_cosine(static_cast<double>(flat), pct_start, div_final));
  const Temporary schedule(*this, add<ParamScheduler>(std::vector{lr}, Clock::batch, "flat_cos"));
  fit(epochs, lrs);
}

}  // namespace learn
