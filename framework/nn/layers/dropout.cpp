#include "framework/nn/layers/dropout.h"

#include "framework/autograd/ops.h"

#include <fmt/core.h>

namespace learn::nn {

Dropout::Dropout(const Scope& scope, double p) : Module(scope), p_(p) {
  check<UsageError>(p >= 0 && p < 1, "Dropout '{}': probability {} is not in [0, 1)", path(), p);
}

Var Dropout::forward(const Var& x) { return ops::dropout(x, p_); }

std::string Dropout::describe() const { return fmt::format("Dropout({})", p_); }

}  // namespace learn::nn
