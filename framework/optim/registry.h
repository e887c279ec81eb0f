#pragma once
#include "framework/core/options/registry.h"
#include "framework/optim/optimizer.h"
#include "framework/optim/schedule.h"

namespace learn::optim {

/// An optimizer that was chosen by name and options.
struct NamedOptimizer {
  OptimizerFactory make;
  double usual_lr = 0;  ///< trains small image nets well under a one-cycle schedule
};

using OptimizerRegistry = Registry<NamedOptimizer()>;

/// Every optimizer by name. The learning rate is not an option: it belongs to the training. To add
/// one, put NAME.h and NAME.cpp into this folder, with a function
/// `register_NAME(OptimizerRegistry&)` that adds it: the build finds it.
[[nodiscard]] OptimizerRegistry optimizer_registry();

/// For registrations: the options that every optimizer has.
template <class Options>
void declare_common(OptionTable& t, Options& o) {
  t.number("weight_decay",
           o.weight_decay,
           kNotNegative,
           "X",
           "weight decay; BatchNorm and biases are exempt");
  t.flag("decay_bn_bias", o.decay_bn_bias, "apply weight decay to BatchNorm and biases too");
  t.number("bn_bias_lr",
           o.bn_bias_lr,
           kPositive,
           "X",
           "factor of the learning rate of BatchNorm and biases; their decay does not grow");
  t.flag("flat", o.flat, "update all weights in one pass, not one by one; the bits are the same");
}
/// And those whose decay is of either kind.
template <class Options>
void declare_decay(OptionTable& t, Options& o) {
  t.choice("decay",
           o.decay,
           {{"decoupled", WeightDecay::decoupled}, {"coupled", WeightDecay::coupled}},
           "subtract from the weights, or add to the gradients (L2)");
}

/// const, cosine, exponential, flat-cos, linear, one-cycle, polynomial, sgdr, step: each schedules
/// a given value. All except one-cycle, which has its own rise, can start with a `warmup`. `steps`,
/// of the whole training, are for those that count them; 0 where they are not known, which those
/// refuse.
[[nodiscard]] Registry<Course(double value, std::int64_t steps)> schedule_registry();

}  // namespace learn::optim
