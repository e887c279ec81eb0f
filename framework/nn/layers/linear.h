#pragma once
#include "framework/nn/init.h"
#include "framework/nn/layers/weight.h"
#include "framework/nn/module.h"

#include <cstdint>
#include <optional>

namespace learn::nn {

struct LinearOptions {
  bool bias = true;
  Init init = init::default_weight();
  std::optional<Init> bias_init{};  ///< unless given, init::default_bias
  bool weight_norm = false;         ///< see Weight
};

/// A fully connected layer, (N,in) to (N,out). Parameters: weight (out,in), or the two of
/// Weight, bias (out).
class Linear final : public Module {
 public:
  /// Throws UsageError for a feature count below 1.
  Linear(const Scope& scope, std::int64_t in, std::int64_t out, const LinearOptions& options = {});
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  std::int64_t in_, out_;
  Weight weight_;
  Param bias_ = nullptr;
};

}  // namespace learn::nn
