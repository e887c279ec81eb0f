#include "framework/nn/layers/batch_norm.h"

#include "framework/autograd/tape.h"
#include "framework/nn/layers/activation.h"

#include <fmt/core.h>

namespace learn::nn {

BatchNorm::BatchNorm(const Scope& scope,
                     int dimensions,
                     std::int64_t channels,
                     const BatchNormOptions& options,
                     const Init& weight)
    : Module(scope),
      dimensions_(dimensions),
      channels_(channels),
      options_(options),
      weight_(scope.param("weight", {channels}, ParamRole::norm_weight, weight)),
      bias_(scope.param("bias", {channels}, ParamRole::norm_bias, init::zeros())),
      running_mean_(scope.buffer("running_mean", {channels}, 0)),
      running_var_(scope.buffer("running_var", {channels}, 1)) {}

Var BatchNorm::operator()(const Var& x, const Var& residual) {
  return run(x, residual, [this](const Var& in, const Var& r) { return normalize(in, r); });
}

Var BatchNorm::forward(const Var& x) { return normalize(x, Var()); }

Var BatchNorm::normalize(const Var& x, const Var& residual) {
  const int rank = dimensions_ == 2 ? 4 : 2;
  check(x.shape().rank() == rank && x.shape()[-1] == channels_,
        "BatchNorm{}d '{}' expects {}{}), got {}",
        dimensions_,
        path(),
        dimensions_ == 2 ? "(N,H,W," : "(N,",
        channels_,
        x.shape());
  Tape& tape = x.tape();
  return ops::batch_norm(x,
                         tape.param(*weight_),
                         tape.param(*bias_),
                         running_mean_->value,
                         running_var_->value,
                         residual,
                         options_,
                         mode_on(tape));
}

ForwardMode BatchNorm::mode_on(const Tape& tape) const {
  if (tape.mode() != ForwardMode::train_unfrozen) return tape.mode();
  return weight_->trainable || bias_->trainable ? ForwardMode::train : ForwardMode::eval;
}

std::string BatchNorm::describe() const {
  const bool plain = options_.activation.name == ActivationKind::Name::identity;
  return fmt::format("BatchNorm{}d({}{}{})",
                     dimensions_,
                     channels_,
                     plain ? "" : ", ",
                     plain ? "" : text_of(options_.activation));
}

}  // namespace learn::nn
