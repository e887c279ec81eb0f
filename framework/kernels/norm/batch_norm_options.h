#pragma once
#include "framework/kernels/common/activation_kind.h"

namespace learn {

/// Options of the batch normalization family; the activation and the residual are fused into it.
struct BatchNormOptions {
  float eps = 1e-5F;
  /// PyTorch's momentum: running = (1 - momentum) * running + momentum * batch, with the unbiased
  /// variance.
  float momentum = 0.1F;
  ActivationKind activation = ActivationKind::identity();
  /// Where a residual is added: act(bn(x) + r) if true, act(bn(x)) + r if false.
  bool residual_before_activation = false;
};

}  // namespace learn
