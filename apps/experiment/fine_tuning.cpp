#include "apps/experiment/fine_tuning.h"

#include "callbacks/freezing/gradual_unfreezing.h"
#include "framework/learner/param_scheduler.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace learn {
namespace {

using optim::Course;
using optim::Schedule;

const FineTuneOptions kUsual;

/// One course over a share of the training, and another over the rest.
Course in_turn(double share, const Course& first, const Course& second) {
  const auto joined = [&](const Schedule& a, const Schedule& b) {
    return optim::schedules::combine({share, 1 - share}, {a, b});
  };
  return {joined(first.lr, second.lr), joined(first.momentum, second.momentum)};
}

}  // namespace

optim::LearningRates fine_tuning_rates(double base_lr) {
  return optim::range(base_lr / 2 / kUsual.lr_mult, base_lr / 2);
}

void add_fine_tuning(Learner& learn, double base_lr, std::int64_t epochs, bool fixed_momentum) {
  const int groups = learn.params().layer_groups();
  const double share =
      std::min(1.0, static_cast<double>(kUsual.freeze_epochs) / static_cast<double>(epochs));
  const std::vector<float> first = optim::last_group(base_lr).spread(groups);
  std::size_t group = 0;
  const auto course = [&](double rate) {
    Course both = in_turn(
        share,
        optim::schedules::one_cycle(static_cast<double>(first[group++]), {.pct_start = 0.99}),
        optim::schedules::one_cycle(rate, {.pct_start = kUsual.pct_start, .div = kUsual.div}));
    if (fixed_momentum) both.momentum = {};
    return both;
  };
  learn.add<callbacks::GradualUnfreezing>(
      callbacks::GradualUnfreezingOptions{.frozen = kUsual.freeze_epochs});
  learn.add<ParamScheduler>(
      scheduled(fine_tuning_rates(base_lr), groups, course), Clock::batch, "fine_tune");
}

}  // namespace learn
