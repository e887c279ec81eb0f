#include "callbacks/mixed_precision.h"

#include "callbacks/registry.h"
#include "framework/autograd/ops/elementwise.h"
#include "framework/core/log.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/step/step.h"
#include "framework/learner/learner.h"
#include "framework/optim/gradients.h"

#include <cmath>
#include <utility>

namespace learn::callbacks {
namespace {

constexpr float kStaticScale = 512;          // fastai's notebook of 2018
constexpr float kFirstDynamicScale = 65536;  // 2^16: fastai 1, torch.amp

}  // namespace

MixedPrecision::MixedPrecision(const MixedPrecisionOptions& options) : options_(options) {
  check<UsageError>(
      is_half(options.dtype), "mixed precision needs f16 or bf16, not {}", options.dtype);
  check<UsageError>(scales() || !options.loss_scale,
                    "mixed precision in bf16 needs no loss scale: leave it out");
  if (!scales()) return;
  const LossScaleOptions& scaling = options.scaling;
  const float scale =
      options.loss_scale.value_or(scaling.dynamic ? kFirstDynamicScale : kStaticScale);
  options_.loss_scale = scale;
  check<UsageError>(std::isfinite(scale) && scale > 0,
                    "the loss scale must be positive and finite, got {}",
                    scale);
  if (!scaling.dynamic) return;
  check<UsageError>(scaling.floor > 0 && scaling.floor <= scale && scale <= scaling.ceiling,
                    "the loss scale {} does not lie between its floor {} and its ceiling {}",
                    scale,
                    scaling.floor,
                    scaling.ceiling);
  check<UsageError>(scaling.factor > 1 && scaling.growth_interval >= 1,
                    "the loss scale must grow by a factor above 1 after at least 1 step, got {} "
                    "after {}",
                    scaling.factor,
                    scaling.growth_interval);
}

std::vector<std::string> MixedPrecision::claims() const { return {"set the precision"}; }

void MixedPrecision::visit_state(StateVisitor& visitor) { visitor.visit("scale_set", scale_set_); }

void MixedPrecision::enter(Learner& learn) {
  entered_ = true;
  flat_before_ = learn.optimizer().options().flat;
  learn.optimizer().set_flat(options_.flat_master);
  if (scales()) learn.optimizer().set_loss_scaling(options_.scaling);
  learn.params().set_working_dtype(options_.dtype);
}

void MixedPrecision::leave(Learner& learn) {
  if (!entered_) return;
  entered_ = false;
  learn.optimizer().set_flat(flat_before_);
  learn.optimizer().set_loss_scaling({.dynamic = false});
  learn.params().set_working_dtype(DType::f32);
}

void MixedPrecision::train_begin(Learner& learn) {
  if (!scale_set_)
    kernels::set_loss_scale(
        learn.context(), options_.loss_scale.value_or(1), learn.optimizer().control());
  scale_set_ = true;
  const StepControl control = learn.optimizer().read_control();
  epoch_steps_ = control.step;
  epoch_skipped_ = control.skipped;
  enter(learn);
}

void MixedPrecision::train_end(Learner& learn) { leave(learn); }

void MixedPrecision::error(Learner& learn, const std::exception&) { leave(learn); }

void MixedPrecision::validate_begin(Learner& learn) {
  if (learn.progress().activity != Activity::fit) enter(learn);
}

void MixedPrecision::validate_end(Learner& learn) {
  if (learn.progress().activity != Activity::fit) leave(learn);
}

void MixedPrecision::batch_begin(Learner& learn) {
  const Tensor& x = learn.batch().x;
  if (x.dtype() == options_.dtype) return;
  Tensor half = learn.context().empty(x.shape(), options_.dtype);
  kernels::cast(learn.context(), x, half);
  learn.set_x(half);
}

void MixedPrecision::loss_begin(Learner& learn) {
  learn.set_pred(ops::cast(learn.batch().pred, DType::f32));
}

void MixedPrecision::backward_begin(Learner& learn) {
  if (scales()) learn.set_seed(learn.optimizer().loss_scale());
}

void MixedPrecision::backward_end(Learner& learn) {
  nn::ParamStore& params = learn.params();
  auto& control = learn.optimizer().control();
  // What several batches give is added in f32, not in half: the next one overwrites the half.
  optim::unscale_half_gradients(
      params,
      control,
      learn.progress().gradients_held ? GradMode::accumulate : GradMode::overwrite);
  if (learn.batch().outcome == Outcome::deferred) return;
  // What is f32 in the model adds up in place, still scaled, until the step is due.
  optim::unscale_full_gradients(params, control);
  learn.grads_unscaled();
}

/// Skipped steps are normal while the scale finds its place. An epoch in which nothing was learned
/// is not, and no smaller scale can help once it is at its floor.
void MixedPrecision::epoch_end(Learner& learn) {
  const StepControl control = learn.optimizer().read_control();
  const std::int64_t steps = control.step - std::exchange(epoch_steps_, control.step);
  const std::int64_t skipped = control.skipped - std::exchange(epoch_skipped_, control.skipped);
  log::debug(
      "[mixed_precision] {} steps, {} skipped, loss scale {}", steps, skipped, control.loss_scale);
  const bool cannot_recover =
      !scales() || !options_.scaling.dynamic || control.loss_scale <= options_.scaling.floor;
  if (steps == 0 && skipped > 0 && cannot_recover)
    fail<DivergedError>(
        "all {} steps of epoch {} had gradients that are not finite, at a loss scale of {}: lower "
        "the learning rate or the scale, or train in fp32",
        skipped,
        learn.progress().epoch + 1,
        control.loss_scale);
}

MixedPrecision& to_fp16(Learner& learn, MixedPrecisionOptions options) {
  to_fp32(learn);
  options.dtype = DType::f16;
  return learn.add<MixedPrecision>(options);
}

MixedPrecision& to_bf16(Learner& learn) {
  to_fp32(learn);
  return learn.add<MixedPrecision>(MixedPrecisionOptions{.dtype = DType::bf16});
}

void to_fp32(Learner& learn) {
  if (const auto* present = learn.find<MixedPrecision>()) learn.remove(*present);
}

void register_mixed_precision(CallbackRegistry& registry) {
  registry.add(
      "mixed_precision",
      "half precision with f32 master weights",
      MixedPrecisionOptions{},
      [](OptionTable& t, MixedPrecisionOptions& o) {
        t.choice("dtype",
                 o.dtype,
                 {{"f16", DType::f16}, {"bf16", DType::bf16}},
                 "of weights, activations and their gradients");
        t.number("loss_scale",
                 o.loss_scale,
                 kPositive,
                 "X",
                 "initial loss scale of f16; default: 65536, or 512 if static");
        t.flag("dynamic", o.scaling.dynamic, "adjust the loss scale to overflows");
        t.number("growth_interval",
                 o.scaling.growth_interval,
                 kCount,
                 "N",
                 "steps without overflow before the scale doubles");
        t.flag(
            "flat_master", o.flat_master, "update all master weights in one pass, not one by one");
      },
      [](const MixedPrecisionOptions& o, const RunSettings&) {
        return make_callback<MixedPrecision>(Role::trains, o);
      });
}

}  // namespace learn::callbacks
