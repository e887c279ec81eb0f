#pragma once
#include "framework/nn/module.h"

namespace learn::nn {

/// In training mode zeroes each element with probability `p` and scales the rest by 1 / (1 - p); in
/// eval mode passes its input through.
class Dropout final : public Module {
 public:
  /// Throws UsageError unless `p` is in [0, 1).
  Dropout(const Scope& scope, double p);
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  double p_;
};

}  // namespace learn::nn
