#pragma once
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/nn/layers.h"
#include "framework/nn/model.h"
#include "framework/optim/sgd.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"
#include "tests/support/worse.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

/// A model, its optimizer and batches for loops without a Learner.
namespace learn::test {

inline constexpr std::int64_t kIn = 5, kOut = 3, kRows = 8;

/// Linear, BatchNorm, Linear.
class SmallNet final : public nn::Module {
 public:
  explicit SmallNet(const nn::Scope& scope)
      : Module(scope),
        first_(scope / "first", kIn, 8, {.bias = false}),
        norm_(scope / "norm", 8, {.activation = ActivationKind::relu()}),
        last_(scope / "last", 8, kOut) {}
  [[nodiscard]] std::string describe() const override { return "SmallNet"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return last_(norm_(first_(x))); }

 private:
  nn::Linear first_;
  nn::BatchNorm1d norm_;
  nn::Linear last_;
};

struct SmallTraining {
  Context ctx{{.threads = 1}};
  nn::Model model = nn::make_model<SmallNet>("small net", {kIn}, static_cast<int>(kOut));
  std::unique_ptr<optim::Optimizer> optimizer;
  Tape tape{ctx};

  explicit SmallTraining(const optim::OptimizerFactory& factory =
                             optim::sgd({.lr = 0.05F, .momentum = 0.9F, .weight_decay = 0.01F})) {
    model.params->materialize(ctx);
    optimizer = factory(*model.params);
  }

  /// Inputs of a batch, times `gain`.
  [[nodiscard]] Tensor x(int batch, double gain = 1) {
    return uniform(
        ctx.step(), {kRows, kIn}, DType::f32, -gain, gain, 100 + static_cast<std::uint64_t>(batch));
  }
  [[nodiscard]] Tensor y(int batch) {
    Tensor classes = full(ctx.step(), {kRows}, DType::i64, 0);
    for (std::int64_t i = 0; i < kRows; ++i)
      set(classes, i, static_cast<double>((i + batch) % kOut));
    return classes;
  }
  /// Starts a batch.
  void begin() { tape.reset({}); }

  [[nodiscard]] std::vector<double> values(const Tensor& flat) {
    std::vector<double> out;
    for (std::int64_t i = 0; i < flat.elements(); ++i) out.push_back(get(flat, i));
    return out;
  }
  [[nodiscard]] std::vector<double> weights() { return values(model.params->flat_master()); }
  /// Weights, optimizer state and running statistics.
  [[nodiscard]] std::vector<double> everything() {
    std::vector<double> all = weights();
    for (auto& [name, state] : model.params->states())
      for (const double v : values(state.values)) all.push_back(v);
    for (const double v : values(model.params->flat_buffers())) all.push_back(v);
    return all;
  }
};

[[nodiscard]] inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    worst = worse(worst, std::abs(a[i] - b[i]));
  return worst;
}

}  // namespace learn::test
