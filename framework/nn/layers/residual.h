#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/nn/layers/sequential.h"

#include <optional>

namespace learn::nn {

/// act(body(x) + shortcut(x)). Children: "body" and "shortcut"; without a shortcut the input itself
/// is added, so the body must keep its shape.
class Residual final : public Module {
 public:
  /// `body` fills the body.
  Residual(const Scope& scope,
           FunctionRef<void(Sequential&)> body,
           const ActivationKind& activation = ActivationKind::identity());
  /// `shortcut` fills the other branch.
  Residual(const Scope& scope,
           FunctionRef<void(Sequential&)> body,
           FunctionRef<void(Sequential&)> shortcut,
           const ActivationKind& activation = ActivationKind::identity());
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  ActivationKind activation_;
  Sequential body_;
  std::optional<Sequential> shortcut_;
};

}  // namespace learn::nn
