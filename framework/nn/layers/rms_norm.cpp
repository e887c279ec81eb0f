#include "framework/nn/layers/rms_norm.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/nn/init.h"

#include <fmt/core.h>

namespace learn::nn {

RMSNorm::RMSNorm(const Scope& scope, std::int64_t channels, float eps)
    : Module(scope), channels_(channels), eps_(eps) {
  check<UsageError>(
      channels > 0, "RMSNorm '{}' needs at least one channel, not {}", path(), channels);
  weight_ = scope.param("weight", {channels}, ParamRole::norm_weight, init::ones());
}

Var RMSNorm::forward(const Var& x) {
  check(x.shape().rank() >= 2 && x.shape()[-1] == channels_,
        "RMSNorm '{}' expects (N,...,{}), got {}",
        path(),
        channels_,
        x.shape());
  return ops::rms_norm(x, x.tape().param(*weight_), eps_);
}

std::string RMSNorm::describe() const { return fmt::format("RMSNorm({})", channels_); }

}  // namespace learn::nn
