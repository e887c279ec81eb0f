#include "framework/amp/initialize.h"

#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/core/options/suggest.h"

#include <algorithm>
#include <string>
#include <vector>

namespace learn::amp {
namespace {

GradScalerOptions scaler_options(const OptLevel& level, const AmpOptions& o) {
  GradScalerOptions options{.scaling = o.scaling};
  const bool dynamic = level.dynamic_scale && o.dtype == DType::f16 && !o.loss_scale;
  options.scaling.dynamic = dynamic;
  options.init_scale = o.loss_scale.value_or(options.init_scale);
  options.enabled = dynamic || o.loss_scale.has_value();
  return options;
}

}  // namespace

Amp::Amp(nn::Model& model,
         optim::Optimizer& optimizer,
         const OptLevel& level,
         const AmpOptions& options)
    : model_(model),
      optimizer_(optimizer),
      level_(level),
      dtype_(options.dtype),
      scaler_(model.params->context(), scaler_options(level, options)) {
  check<DTypeError>(
      is_half(options.dtype), "amp: the type must be f16 or bf16, not {}", options.dtype);
  check<UsageError>(&optimizer.store() == model.params.get(),
                    "amp: the optimizer does not update the model '{}'",
                    model.name);
  check<UsageError>(level.masters == nn::Masters::f32 || !options.loss_scale,
                    "amp level {} has no f32 gradients to unscale: omit the loss scale of {}",
                    level.name,
                    options.loss_scale.value_or(1));
  model.params->set_working_dtype(level.half_model ? dtype_ : DType::f32, level.masters);
}

Var Amp::forward(Tape& tape, const Tensor& x) {
  const AutocastRegion region(tape, level_.autocast ? std::optional(dtype_) : std::nullopt);
  const Var in = tape.input(x);
  const Var pred = (*model_.module)(level_.half_model ? ops::cast(in, dtype_) : in);
  return ops::cast(pred, DType::f32);
}

void Amp::step() {
  scaler_.step(optimizer_);
  scaler_.update();
}

Amp initialize(nn::Model& model,
               optim::Optimizer& optimizer,
               std::string_view opt_level,
               const AmpOptions& options) {
  const auto level = std::find_if(
      kOptLevels.begin(), kOptLevels.end(), [&](const OptLevel& l) { return l.name == opt_level; });
  if (level == kOptLevels.end()) {
    std::vector<std::string> names;
    names.reserve(kOptLevels.size());
    for (const OptLevel& one : kOptLevels) names.emplace_back(one.name);
    require_known("opt level", opt_level, names);
  }
  return {model, optimizer, *level, options};
}

}  // namespace learn::amp
