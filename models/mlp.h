#pragma once
#include "framework/nn/layers/sequential.h"

#include <cstdint>

namespace learn::models {

struct MlpOptions {
  std::int64_t hidden_layers = 2;  ///< 0 makes a linear model
  std::int64_t width = 512;        ///< units of each hidden layer
  double dropout = 0;              ///< after each hidden layer
  bool weight_norm = false;        ///< of every linear layer; see nn::Weight
  int classes = 10;
};

/// The values of a sample as one vector, hidden layers with relu, a linear layer. Without hidden
/// layers it is multinomial logistic regression: what it reaches is what a data set gives away for
/// nothing. Names: "layers.1.weight", ...
class Mlp final : public nn::Module {
 public:
  /// `input` is one sample of any shape. Throws UsageError for a bad number.
  Mlp(const nn::Scope& scope, const Shape& input, const MlpOptions& options);
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  Shape input_;
  MlpOptions options_;
  nn::Sequential layers_;
};

}  // namespace learn::models
