#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/kernels/conv/conv_options.h"
#include "framework/kernels/norm/batch_norm_options.h"
#include "framework/kernels/pool/pool_options.h"
#include "framework/tensor/tensor.h"

#include <variant>

namespace learn {

/// Attributes of a batch normalization; its inputs are x, weight, bias and the optional residual.
struct BatchNormAttributes {
  BatchNormOptions options;
  bool eval = true;  ///< by the running statistics
  Tensor running_mean, running_var;
};

/// Attributes of a layer normalization, whose inputs are x, weight and bias, and of rms_norm, which
/// has no bias.
struct LayerNormAttributes {
  float eps = 1e-5F;
};

/// Attributes of a product with a number.
struct ScaleAttributes {
  double factor = 1;
};

/// Attributes of a concatenation.
struct ConcatAttributes {
  int axis = 0;  ///< counted from the front
};

/// The parameters of an operation in addition to its inputs, for exporters (ADR 0025). Empty for
/// operations without parameters.
using OpAttributes = std::variant<std::monostate,
                                  ActivationKind,
                                  BatchNormAttributes,
                                  ConcatAttributes,
                                  Conv2dOptions,
                                  LayerNormAttributes,
                                  Pool2dOptions,
                                  ScaleAttributes>;

}  // namespace learn
