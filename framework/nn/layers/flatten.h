#pragma once
#include "framework/nn/module.h"

namespace learn::nn {

/// (N,...) to (N, the rest), in memory order: (N,H,W,C) becomes rows of H*W*C.
class Flatten final : public Module {
 public:
  explicit Flatten(const Scope& scope) : Module(scope) {}
  [[nodiscard]] std::string describe() const override { return "Flatten"; }

 protected:
  Var forward(const Var& x) override;
};

}  // namespace learn::nn
