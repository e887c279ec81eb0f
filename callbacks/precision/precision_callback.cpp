#include "callbacks/precision/precision_callback.h"

#include "callbacks/gradient_clip.h"
#include "framework/autograd/ops.h"
#include "framework/core/log.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/step/step.h"
#include "framework/learner/learner.h"

#include <algorithm>
#include <utility>

namespace learn::callbacks {
namespace {

constexpr float kStaticScale = 512;
constexpr float kFirstDynamicScale = 0x1p16F;

}  // namespace

PrecisionCallback::PrecisionCallback(std::string_view what, std::string name, DType dtype)
    : state_{.name = std::move(name)} {
  check<UsageError>(is_half(dtype), "{} needs f16 or bf16, not {}", what, dtype);
}

PrecisionCallback::PrecisionCallback(std::string_view what,
                                     std::string name,
                                     DType dtype,
                                     const std::optional<float>& loss_scale,
                                     const LossScaleOptions& scaling,
                                     const LossScaleOptions& usual,
                                     std::int64_t max_skips)
    : PrecisionCallback(what, std::move(name), dtype) {
  if (max_skips < 1)
    fail<UsageError>("max_skips, of steps in a row, must be at least 1, got {}", max_skips);
  max_skips_ = max_skips;
  state_.scaling = scaling;
  if (dtype != DType::f16) {
    if (loss_scale || scaling != usual)
      fail<UsageError>("{} in bf16 does not use a loss scale: omit it and its options", what);
    return;
  }
  const float scale = first_loss_scale(loss_scale, scaling);
  state_.first_scale = scale;
  kernels::check_loss_scaling(scaling, scale);
}

void PrecisionCallback::enter(Learner& learn) {
  entered_ = true;
  if (scaled()) learn.optimizer().set_loss_scaling(state_.scaling);
  begin(learn);
}

void PrecisionCallback::leave(Learner& learn) {
  if (!std::exchange(entered_, false)) return;
  learn.optimizer().set_loss_scaling({.dynamic = false});
  end(learn);
}

void PrecisionCallback::train_begin(Learner& learn) {
  // Also set without a scale, because gradients of a half model are always multiplied by its
  // inverse.
  if (!scaled() || !state_.scale_set)
    kernels::set_loss_scale(
        learn.context(), state_.first_scale.value_or(1), learn.optimizer().control());
  state_.scale_set = scaled();
  const StepControl control = learn.optimizer().read_control();
  epoch_steps_ = control.step;
  epoch_skipped_ = fit_skipped_ = control.skipped;
  batches_since_look_ = 0;
  enter(learn);
}

void PrecisionCallback::train_end(Learner& learn) { leave(learn); }

void PrecisionCallback::error(Learner& learn, const std::exception&) { leave(learn); }

void PrecisionCallback::validate_begin(Learner& learn) {
  if (learn.progress().activity != Activity::fit) enter(learn);
}

void PrecisionCallback::validate_end(Learner& learn) {
  if (learn.progress().activity != Activity::fit) leave(learn);
}

void PrecisionCallback::loss_begin(Learner& learn) {
  learn.set_pred(ops::cast(learn.batch().pred, DType::f32));
}

void PrecisionCallback::backward_begin(Learner& learn) {
  if (scaled()) learn.set_seed(learn.optimizer().loss_scale());
}

bool PrecisionCallback::may_fall(const StepControl& control) const {
  return scaled() && state_.scaling.dynamic && control.loss_scale > state_.scaling.floor;
}

void PrecisionCallback::batch_end(Learner& learn) {
  if (!learn.progress().training) return;
  ++batches_since_look_;
  if (learn.context().device().is_cpu() || batches_since_look_ == kBatchesBetweenLooks)
    check_row(learn.optimizer().read_control(), learn);
}

void PrecisionCallback::check_row(const StepControl& control, const Learner& learn) {
  batches_since_look_ = 0;
  // Skipped steps of an earlier fit do not count, as the user may have changed something since.
  const std::int64_t row = std::min(control.overflows, control.skipped - fit_skipped_);
  if (row < max_skips_ || may_fall(control)) return;
  fail<DivergedError>(
      "the last {} steps in a row, up to batch {}, had gradients that are not finite, at the "
      "lowest loss scale allowed, {}: try a lower learning rate, {}, a lower scale or floor, or "
      "fp32; the callback blame names the layer (max_skips is {})",
      row,
      learn.progress().batch_clock,
      control.loss_scale,
      clipping_advice(learn),
      max_skips_);
}

void PrecisionCallback::epoch_end(Learner& learn) {
  const StepControl control = learn.optimizer().read_control();
  const std::int64_t steps = control.step - std::exchange(epoch_steps_, control.step);
  const std::int64_t skipped = control.skipped - std::exchange(epoch_skipped_, control.skipped);
  log::debug(
      "[{}] {} steps, {} skipped, loss scale {}", name(), steps, skipped, control.loss_scale);
  if (steps == 0 && skipped > 0 && !may_fall(control))
    fail<DivergedError>(
        "all {} steps of epoch {} had gradients that are not finite, at a loss scale of {}: lower "
        "the learning rate or the scale, or train in fp32",
        skipped,
        learn.progress().epoch + 1,
        control.loss_scale);
  check_row(control, learn);
}

void cast_input(Learner& learn, DType dtype) {
  const Tensor& x = learn.batch().x;
  if (x.dtype() == dtype) return;
  Tensor half = learn.context().empty(x.shape(), dtype);
  kernels::cast(learn.context(), x, half);
  learn.set_x(half);
}

void to_fp32(Learner& learn) {
  if (const auto* present = learn.find<PrecisionCallback>()) learn.remove(*present);
}

float first_loss_scale(const std::optional<float>& given, const LossScaleOptions& options) {
  return given.value_or(options.dynamic ? kFirstDynamicScale : kStaticScale);
}

void declare_half(OptionTable& t, DType& dtype, std::string help) {
  t.choice("dtype", dtype, {{"f16", DType::f16}, {"bf16", DType::bf16}}, std::move(help));
}

void declare_loss_scaling(OptionTable& t,
                          std::optional<float>& loss_scale,
                          LossScaleOptions& options,
                          std::int64_t& max_skips) {
  t.number("loss_scale", loss_scale, kPositive, "X", "initial loss scale of f16").when_absent =
      "65536, or 512 if static";
  t.flag("dynamic", options.dynamic, "adjust the loss scale to overflows");
  t.number("growth_factor",
           options.growth_factor,
           {.low = 1, .open_low = true},
           "X",
           "the loss scale grows by this factor");
  t.number("growth_interval",
           options.growth_interval,
           kCount,
           "N",
           "steps without overflow before the loss scale grows");
  t.number("backoff_factor",
           options.backoff_factor,
           {.low = 0, .high = 1, .open_low = true, .open_high = true},
           "X",
           "an overflow multiplies the loss scale by this");
  t.number("hysteresis",
           options.hysteresis,
           kCount,
           "N",
           "overflows in a row before the loss scale backs off");
  t.number("floor", options.floor, kPositive, "X", "lowest loss scale");
  t.number("ceiling", options.ceiling, kPositive, "X", "highest loss scale");
  t.number("max_skips",
           max_skips,
           kCount,
           "N",
           "skipped steps in a row that end the training, at the lowest loss scale");
}

}  // namespace learn::callbacks
