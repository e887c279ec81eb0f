#include "framework/optim/sgd.h"

#include "framework/optim/registry.h"

namespace learn::optim {

Sgd::Sgd(nn::ParamStore& store, const SgdOptions& options)
    : Optimizer(store,
                common_options(options),
                {.momentum = static_cast<float>(options.momentum),
                 .dampening = static_cast<float>(options.dampening)}),
      nesterov_(options.nesterov),
      buffer_(store.state("momentum_buffer")) {
  if (nesterov_ && (options.momentum <= 0 || options.dampening != 0))
    fail<UsageError>("Nesterov momentum needs a momentum above 0 (not {}) and dampening 0 (not {})",
                     options.momentum,
                     options.dampening);
}

void Sgd::update(int group, const nn::Segment& segment, const kernels::OptimTensors& tensors) {
  const bool with_momentum = hypers(group).momentum != 0;
  Tensor buffer = with_momentum ? buffer_.range(segment.begin, segment.count) : Tensor();
  kernels::sgd_step(store().context(), tensors, buffer, nesterov_ && with_momentum);
}

OptimizerFactory sgd(const SgdOptions& options) {
  return [options](nn::ParamStore& store) { return std::make_unique<Sgd>(store, options); };
}

void register_sgd(OptimizerRegistry& registry) {
  registry.add(
      "sgd",
      "stochastic gradient descent",
      SgdOptions{.momentum = 0.9},
      [](OptionTable& t, SgdOptions& o) {
        t.number("momentum", o.momentum, kShare, "M", "momentum");
        t.number("dampening", o.dampening, kShare, "X", "dampening of the momentum");
        t.flag("nesterov", o.nesterov, "use Nesterov momentum");
        declare_decay(t, o);
        declare_common(t, o);
      },
      [](const SgdOptions& o) {
        return NamedOptimizer{sgd(o), 0.1};
      });
}

}  // namespace learn::optim
