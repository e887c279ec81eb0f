#include "framework/optim/adam.h"

#include "framework/optim/registry.h"

namespace learn::optim {

Adam::Adam(nn::ParamStore& store, const AdamOptions& options)
    : Optimizer(store,
                common_options(options),
                {.momentum = static_cast<float>(options.beta1),
                 .beta2 = static_cast<float>(options.beta2),
                 .eps = static_cast<float>(options.eps)}),
      mean_(store.state("mean")),
      square_(store.state("mean_square")) {}

void Adam::update(int /*group*/, const nn::Segment& segment, const kernels::OptimTensors& tensors) {
  Tensor mean = mean_.range(segment.begin, segment.count);
  Tensor square = square_.range(segment.begin, segment.count);
  kernels::adam_step(store().context(), tensors, mean, square);
}

OptimizerFactory adam(AdamOptions options) {
  options.decay = WeightDecay::coupled;
  return [options](nn::ParamStore& store) { return std::make_unique<Adam>(store, options); };
}

OptimizerFactory adamw(AdamOptions options) {
  options.decay = WeightDecay::decoupled;
  return [options](nn::ParamStore& store) { return std::make_unique<Adam>(store, options); };
}

void register_adam(OptimizerRegistry& registry) {
  const auto declare = [](OptionTable& t, AdamOptions& o) {
    t.number("momentum", o.beta1, kShare, "M", "beta1, decay rate of the gradient average");
    t.number("beta2", o.beta2, kShare, "X", "decay rate of the squared-gradient average");
    t.number("eps", o.eps, kPositive, "X", "added to the denominator");
    declare_common(t, o);
  };
  registry.add("adam",
               "Adam with coupled (L2) weight decay",
               AdamOptions{},
               declare,
               [](const AdamOptions& o) {
                 return NamedOptimizer{adam(o), 0.01};
               });
  registry.add("adamw",
               "Adam with decoupled weight decay",
               AdamOptions{},
               declare,
               [](const AdamOptions& o) {
                 return NamedOptimizer{adamw(o), 0.01};
               });
}

}  // namespace learn::optim
