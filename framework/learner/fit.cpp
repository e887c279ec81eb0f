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
  if (train_source().batches() <= 0) fail<UsageError>("fit: the training source has no batches");
  optimizer_->set_lrs(lrs);
  run_activity(Activity::fit, [&] { train(epochs); });
}

void Learner::fit_one_cycle(std::int64_t epochs,
                            const LearningRates& lr_max,
                            const OneCycleOptions& options) {
  const auto one_cycle = [&](double lr) { return schedules::one_cycle(lr, options); };
  const Temporary schedule(
      *this,
      add<ParamScheduler>(
          scheduled(lr_max, params().layer_groups(), one_cycle), Clock::batch, "one_cycle"));
  fit(epochs, lr_max);
}

void Learner::fit_flat_cos(std::int64_t epochs,
                           const LearningRates& lrs,
                           double div_final,
                           double pct_start) {
  const auto flat_cos = [&](double lr) {
    return optim::Course{.lr = schedules::flat_cosine(lr, pct_start, div_final), .momentum = {}};
  };
  const Temporary schedule(
      *this,
      add<ParamScheduler>(
          scheduled(lrs, params().layer_groups(), flat_cos), Clock::batch, "flat_cos"));
  fit(epochs, lrs);
}

}  // namespace learn
