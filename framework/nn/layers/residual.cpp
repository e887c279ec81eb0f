#include "framework/nn/layers/residual.h"

#include "framework/autograd/ops.h"
#include "framework/nn/layers/activation.h"

#include <fmt/core.h>

namespace learn::nn {

Residual::Residual(const Scope& scope,
                   FunctionRef<void(Sequential&)> body,
                   const ActivationKind& activation)
    : Module(scope), activation_(activation), body_(scope / "body", body) {}

Residual::Residual(const Scope& scope,
                   FunctionRef<void(Sequential&)> body,
                   FunctionRef<void(Sequential&)> shortcut,
                   const ActivationKind& activation)
    : Residual(scope, body, activation) {
  shortcut_.emplace(scope / "shortcut", shortcut);
}

Var Residual::forward(const Var& x) {
  const Var y = body_(x);
  const Var skip = shortcut_ ? (*shortcut_)(x) : x;
  check(y.shape() == skip.shape(),
        "Residual '{}': the body returns {} but the shortcut {}; the shapes must be equal",
        path(),
        y.shape(),
        skip.shape());
  return ops::activation(ops::add(y, skip), activation_);
}

std::string Residual::describe() const {
  if (activation_.name == ActivationKind::Name::identity) return "Residual";
  return fmt::format("Residual({})", text_of(activation_));
}

}  // namespace learn::nn
