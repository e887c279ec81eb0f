#include "framework/nn/layers/conv_bn_act.h"

#include "framework/autograd/ops.h"
#include "framework/nn/layers/activation.h"

#include <fmt/core.h>

namespace learn::nn {

ConvBnAct::ConvBnAct(const Scope& scope,
                     std::int64_t in,
                     std::int64_t out,
                     const ConvBnActOptions& options)
    : Module(scope),
      activation_(options.activation),
      residual_before_activation_(options.residual_before_activation),
      conv_(scope / options.conv_name,
            in,
            out,
            {.kernel = options.kernel,
             .stride = options.stride,
             .pad = options.pad,
             .groups = options.groups,
             .bias = options.weight_norm,
             .init = options.conv_init,
             .weight_norm = options.weight_norm}) {
  const BatchNormOptions fused{.activation = activation_,
                               .residual_before_activation = residual_before_activation_};
  if (!options.weight_norm) norm_.emplace(scope / options.norm_name, out, fused, options.norm_init);
}

Var ConvBnAct::operator()(const Var& x, const Var& residual) {
  return run(x, residual, [this](const Var& in, const Var& r) { return with_residual(in, r); });
}

Var ConvBnAct::with_residual(const Var& x, const Var& residual) {
  const Var y = conv_(x);
  if (norm_) return (*norm_)(y, residual);
  if (residual_before_activation_) return ops::activation(y + residual, activation_);
  return ops::activation(y, activation_) + residual;
}

Var ConvBnAct::forward(const Var& x) {
  const Var y = conv_(x);
  return norm_ ? (*norm_)(y) : ops::activation(y, activation_);
}

std::string ConvBnAct::describe() const {
  return fmt::format(
      "ConvBnAct: {}, {}", conv_.describe(), norm_ ? norm_->describe() : text_of(activation_));
}

}  // namespace learn::nn
