#pragma once
#include "framework/backend/activation_kind.h"
#include "framework/nn/layers/sequential.h"

#include <optional>

namespace learn::nn {

/// act(body(x) + shortcut(x)). Children: "body" and, once `shortcut()` was asked for, "shortcut";
/// without it the input itself is added, so the body must keep its shape.
class Residual final : public Module {
 public:
  explicit Residual(const Scope& scope,
                    const ActivationKind& activation = ActivationKind::identity());
  [[nodiscard]] Sequential& body() noexcept { return body_; }
  /// Fill the body first: parameters are laid out in the order of their declaration.
  [[nodiscard]] Sequential& shortcut();
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  Scope scope_;
  ActivationKind activation_;
  Sequential body_;
  std::optional<Sequential> shortcut_;
};

}  // namespace learn::nn
