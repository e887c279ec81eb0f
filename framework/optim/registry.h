#pragma once
#include "framework/core/registry.h"
#include "framework/optim/optimizer.h"
#include "framework/optim/schedule.h"

namespace learn::optim {

/// An optimizer that was chosen by name and options.
struct NamedOptimizer {
  OptimizerFactory make;
  double usual_lr = 0;  ///< trains small image nets well under a one-cycle schedule
};

/// Every optimizer by name. The learning rate is no option: it is the training's.
[[nodiscard]] Registry<NamedOptimizer()> optimizer_registry();

/// const, cosine, exponential, flat-cos, linear, one-cycle, polynomial, sgdr, step: what each makes
/// of the value that it is given. All but one-cycle, which has its own rise, can begin with a
/// `warmup`.
[[nodiscard]] Registry<Course(double value)> schedule_registry();

}  // namespace learn::optim
