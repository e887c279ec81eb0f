#pragma once
#include "framework/core/registry.h"
#include "framework/optim/optimizer.h"

#include <functional>
#include <optional>

namespace learn::optim {

/// Options by name, as a command line or a configuration file gives them. What is not set keeps the
/// optimizer's own default; what an optimizer does not know is a UsageError.
struct OptimizerSettings {
  std::optional<float> lr, momentum, dampening, beta2, eps, weight_decay;
  std::optional<WeightDecay> decay;  ///< "adam" and "adamw" differ in it and do not take it
  std::optional<bool> nesterov, centered, decay_bn_bias, flat;
};

using OptimizerMaker = std::function<OptimizerFactory(const OptimizerSettings&)>;

/// sgd, adam, adamw, rmsprop.
[[nodiscard]] Registry<OptimizerMaker> optimizers();

}  // namespace learn::optim
