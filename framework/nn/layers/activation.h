#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/nn/module.h"

#include <string>

namespace learn::nn {

/// An elementwise activation of any shape.
class Activation final : public Module {
 public:
  Activation(const Scope& scope, const ActivationKind& kind) : Module(scope), kind_(kind) {}
  /// "relu", "leaky_relu 0.1".
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  ActivationKind kind_;
};

/// The activation's name, with its parameter if it has one: "leaky_relu 0.1".
[[nodiscard]] std::string text_of(const ActivationKind& kind);

}  // namespace learn::nn
