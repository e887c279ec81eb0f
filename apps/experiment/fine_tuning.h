#pragma once
#include "framework/learner/learner.h"

#include <cstdint>

/// fastai's fine_tune as one fit, which can be resumed; `Learner::fine_tune` makes two.
namespace learn {

/// The rates of the layer groups when all of them are trained.
[[nodiscard]] optim::LearningRates fine_tuning_rates(double base_lr);

/// Adds the callbacks that let a fit of this many epochs train the last layer group alone in the
/// first one, and that set rates and, unless `fixed_momentum`, the momentum.
void add_fine_tuning(Learner& learn, double base_lr, std::int64_t epochs, bool fixed_momentum);

}  // namespace learn
