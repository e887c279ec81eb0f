#pragma once
#include "framework/core/options/registry.h"
#include "framework/interfaces/target_kind.h"
#include "framework/nn/loss.h"

#include <functional>
#include <string>

namespace learn::nn {

/// A loss that was chosen by name and options.
struct NamedLoss {
  TargetKind targets;  ///< that it is for
  /// `weight` (classes), f32, where the predictions are, as in `weighted_cross_entropy` and
  /// `bce_with_logits`; undefined: all classes count the same.
  std::function<Loss(const Tensor& weight)> make;
  bool weighs_classes = false;  ///< else `make` takes no weights
};

using LossRegistry = Registry<NamedLoss()>;

/// The losses of loss.h by name.
[[nodiscard]] LossRegistry loss_registry();

/// The one that is usual for such targets: cross_entropy, bce_with_logits, mse.
[[nodiscard]] std::string usual_loss(TargetKind targets);

}  // namespace learn::nn
