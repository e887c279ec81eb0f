#include "framework/nn/layers/layer_norm.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"

#include <fmt/core.h>

namespace learn::nn {

LayerNorm::LayerNorm(const Scope& scope, std::int64_t channels, float eps)
    : Module(scope), channels_(channels), eps_(eps) {
  check<UsageError>(
      channels > 0, "LayerNorm '{}' needs at least one channel, not {}", path(), channels);
  weight_ = scope.param("weight", {channels}, ParamRole::norm_weight, init::ones());
  bias_ = scope.param("bias", {channels}, ParamRole::norm_bias, init::zeros());
}

Var LayerNorm::forward(const Var& x) {
  check(x.shape().rank() >= 2 && x.shape()[-1] == channels_,
        "LayerNorm '{}' expects (N,...,{}), got {}",
        path(),
        channels_,
        x.shape());
  Tape& tape = x.tape();
  return ops::layer_norm(x, tape.param(*weight_), tape.param(*bias_), eps_);
}

std::string LayerNorm::describe() const { return fmt::format("LayerNorm({})", channels_); }

}  // namespace learn::nn
