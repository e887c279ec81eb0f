#include "framework/optim/adam.h"

namespace learn::optim {

Adam::Adam(nn::ParamStore& store, const AdamOptions& options)
    : Optimizer(store,
                common_options(options),
                {.momentum = options.beta1, .beta2 = options.beta2, .eps = options.eps}),
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

}  // namespace learn::optim
