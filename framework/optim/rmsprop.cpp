#include "framework/optim/rmsprop.h"

#include "framework/optim/registry.h"

namespace learn::optim {

RmsProp::RmsProp(nn::ParamStore& store, const RmsPropOptions& options)
    : Optimizer(store,
                common_options(options),
                {.momentum = static_cast<float>(options.momentum),
                 .beta2 = static_cast<float>(options.alpha),
                 .eps = static_cast<float>(options.eps)}),
      square_(store.state("mean_square")),
      mean_(options.centered ? &store.state("mean") : nullptr),
      buffer_(store.state("momentum_buffer")) {}

void RmsProp::update(int group, const nn::Segment& segment, const kernels::OptimTensors& tensors) {
  const auto part = [&](Tensor& flat) { return flat.range(segment.begin, segment.count); };
  kernels::RmsPropState state;
  state.square = part(square_);
  if (mean_ != nullptr) state.mean = part(*mean_);
  if (hypers(group).momentum != 0) state.buffer = part(buffer_);
  kernels::rmsprop_step(store().context(), tensors, state);
}

OptimizerFactory rmsprop(const RmsPropOptions& options) {
  return [options](nn::ParamStore& store) { return std::make_unique<RmsProp>(store, options); };
}

void register_rmsprop(OptimizerRegistry& registry) {
  registry.add(
      "rmsprop",
      "RMSProp",
      RmsPropOptions{},
      [](OptionTable& t, RmsPropOptions& o) {
        t.number("momentum", o.momentum, kShare, "M", "momentum");
        t.number(
            "beta2", o.alpha, kShare, "X", "alpha, decay rate of the squared-gradient average");
        t.number("eps", o.eps, kPositive, "X", "added to the denominator");
        t.flag("centered", o.centered, "normalize by the centered second moment");
        declare_decay(t, o);
        declare_common(t, o);
      },
      [](const RmsPropOptions& o) {
        return NamedOptimizer{rmsprop(o), 0.001};
      });
}

}  // namespace learn::optim
