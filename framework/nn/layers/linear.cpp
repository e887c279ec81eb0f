#include "framework/nn/layers/linear.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"

#include <fmt/core.h>

namespace learn::nn {

Linear::Linear(const Scope& scope, std::int64_t in, std::int64_t out, const LinearOptions& options)
    : Module(scope), in_(in), out_(out) {
  check<UsageError>(
      in >= 1 && out >= 1, "Linear '{}': features {} -> {} must be at least 1", path(), in, out);
  weight_ = Weight(scope, {out, in}, options.init, options.weight_norm);
  if (options.bias)
    bias_ = scope.param(
        "bias", {out}, ParamRole::bias, options.bias_init.value_or(init::default_bias(in)));
}

Var Linear::forward(const Var& x) {
  check(x.shape().rank() == 2 && x.shape()[1] == in_,
        "Linear '{}' expects (N,{}), got {}: flatten images first, and create the model for the "
        "size of its images",
        path(),
        in_,
        x.shape());
  Tape& tape = x.tape();
  return ops::linear(x, weight_.on(tape), bias_ != nullptr ? tape.param(*bias_) : Var());
}

std::string Linear::describe() const {
  return fmt::format(
      "Linear({} -> {}{}{})", in_, out_, weight_.note(), bias_ != nullptr ? "" : ", no bias");
}

}  // namespace learn::nn
