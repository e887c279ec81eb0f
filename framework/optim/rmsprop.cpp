#include "framework/optim/rmsprop.h"

namespace learn::optim {

RmsProp::RmsProp(nn::ParamStore& store, const RmsPropOptions& options)
    : Optimizer(store,
                common_options(options),
                {.momentum = options.momentum, .beta2 = options.alpha, .eps = options.eps}),
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

}  // namespace learn::optim
