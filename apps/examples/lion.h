#pragma once
#include "framework/kernels/map/map.h"
#include "framework/optim/optimizer.h"

#include <memory>
#include <string_view>
#include <vector>

/// A custom optimizer built from the framework's parts: one `map` over the flat buffers.
namespace examples {

struct LionOptions {
  float lr = 1e-4F;
  float beta1 = 0.9F;
  float beta2 = 0.99F;
  float weight_decay = 0;
  learn::optim::WeightDecay decay = learn::optim::WeightDecay::decoupled;
  bool decay_bn_bias = false;
  double bn_bias_lr = 1;
  bool flat = true;
};

/// Lion (Chen et al. 2023): w -= lr * (sign(beta1 m + (1 - beta1) g) + wd * w), then
/// m = beta2 m + (1 - beta2) g.
class Lion final : public learn::optim::Optimizer {
 public:
  Lion(learn::nn::ParamStore& store, const LionOptions& options)
      : Optimizer(store,
                  learn::optim::common_options(options),
                  {.momentum = options.beta1, .beta2 = options.beta2}),
        mean_(store.state("mean")) {}
  [[nodiscard]] std::string_view name() const override { return "lion"; }

 protected:
  void update(int /*group*/,
              const learn::nn::Segment& segment,
              const learn::kernels::OptimTensors& t) override {
    using learn::GroupHypers, learn::StepControl, learn::Tensor, learn::kernels::MapResult;
    const Tensor mean = mean_.range(segment.begin, segment.count);
    // Values that change from step to step stay on the device, so that a step can be captured.
    const Tensor inputs[] = {t.weight,
                             t.grad,
                             mean,
                             t.hypers.member(&GroupHypers::lr),
                             t.hypers.member(&GroupHypers::weight_decay),
                             t.hypers.member(&GroupHypers::momentum),
                             t.hypers.member(&GroupHypers::beta2),
                             t.control.member(&StepControl::grad_multiplier),
                             t.control.member(&StepControl::found_inf)};
    std::vector<MapResult> results{{t.weight}, {mean}};
    if (t.half.defined()) results.push_back({t.half});
    learn::kernels::map(store().context(), program(t), inputs, results);
  }

 private:
  static learn::kernels::MapProgram program(const learn::kernels::OptimTensors& t) {
    using learn::Expr, learn::expr::arg;
    const Expr w = arg(0), m = arg(2), lr = arg(3), decay = arg(4), beta1 = arg(5), beta2 = arg(6);
    const Expr gradient = arg(1) * arg(7);
    const Expr g = t.decoupled_decay ? gradient : gradient + decay * w;
    const Expr kept = t.decoupled_decay ? w * (1 - lr * decay) : w;
    const Expr moved = kept - lr * sign(beta1 * m + (1 - beta1) * g);
    const Expr skipped = arg(8);  // a gradient is not finite: change nothing
    std::vector<Expr> outputs{select(skipped, w, moved),
                              select(skipped, m, beta2 * m + (1 - beta2) * g)};
    if (t.half.defined()) outputs.push_back(outputs[0]);  // the copy that the model computes with
    return learn::kernels::compile(outputs);
  }

  learn::Tensor& mean_;
};

inline learn::optim::OptimizerFactory lion(const LionOptions& options) {
  return [options](learn::nn::ParamStore& store) { return std::make_unique<Lion>(store, options); };
}

}  // namespace examples
