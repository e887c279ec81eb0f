#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/kernels/conv/conv_options.h"
#include "framework/kernels/norm/batch_norm_options.h"
#include "framework/kernels/pool/pool_options.h"
#include "framework/tensor/tensor.h"

#include <variant>

namespace learn {

/// Of a batch normalisation: x, weight, bias and the residual, if there is one, are its inputs.
struct BatchNormAttributes {
  BatchNormOptions options;
  bool eval = true;  ///< by the running statistics
  Tensor running_mean, running_var;
};

/// Of a product with a number.
struct ScaleAttributes {
  double factor = 1;
};

/// Of a concatenation.
struct ConcatAttributes {
  int axis = 0;  ///< counted from the front
};

/// What an operation computes with beside its inputs, for those who write it down elsewhere
/// (ADR 0025). Operations that compute with nothing else have none.
using OpAttributes = std::variant<std::monostate,
                                  ActivationKind,
                                  BatchNormAttributes,
                                  ConcatAttributes,
                                  Conv2dOptions,
                                  Pool2dOptions,
                                  ScaleAttributes>;

}  // namespace learn
