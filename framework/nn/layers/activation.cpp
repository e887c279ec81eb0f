#include "framework/nn/layers/activation.h"

#include "framework/autograd/ops.h"

#include <fmt/core.h>

namespace learn::nn {

Var Activation::forward(const Var& x) { return ops::activation(x, kind_); }

std::string Activation::describe() const { return text_of(kind_); }

std::string text_of(const ActivationKind& kind) {
  if (kind.name != ActivationKind::Name::leaky_relu) return name_of(kind);
  return fmt::format("leaky_relu {}", kind.slope);
}

}  // namespace learn::nn
