#pragma once
#include "framework/kernels/common/activation_kind.h"

namespace learn {

/// Options of the batch normalisation family; the activation and the residual are fused into it.
struct BatchNormOptions {
  float eps = 1e-5F;
  /// PyTorch's momentum: running = (1 - momentum) * running + momentum * batch, the variance
  /// unbiased.
  float momentum = 0.1F;
  ActivationKind activation = ActivationKind::identity();
  /// Where the residual is added, if there is one: act(bn(x) + r), or act(bn(x)) + r.
  bool residual_before_activation = false;
};

}  // namespace learn
