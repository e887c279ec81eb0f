#pragma once
#include "framework/nn/layers.h"
#include "tests/learner/tiny_training.h"

#include <utility>
#include <vector>

namespace tiny {

/// Linear, BatchNorm, Linear: modules at which something can go wrong.
class LayeredNet final : public nn::Module {
 public:
  explicit LayeredNet(const nn::Scope& scope)
      : Module(scope),
        first_(scope / "first", kFeatures, 8, {.bias = false}),
        norm_(scope / "norm", 8),
        last_(scope / "last", 8, kFeatures) {}
  [[nodiscard]] std::string describe() const override { return "LayeredNet"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return last_(norm_(first_(x))); }

 private:
  nn::Linear first_;
  nn::BatchNorm1d norm_;
  nn::Linear last_;
};

/// A training of it, with the loss and the data of `Training`.
struct LayeredTraining : Training {
  explicit LayeredTraining(std::vector<std::int64_t> sizes = {4, 4, 4}, LearnerOptions options = {})
      : Training(std::move(sizes),
                 {4},
                 std::move(options),
                 nn::make_model<LayeredNet>("net", {kFeatures}, static_cast<int>(kFeatures))) {}
};

}  // namespace tiny
