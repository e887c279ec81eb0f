#include "callbacks/loss_scaling.h"

#include "framework/core/log.h"
#include "framework/kernels/step/step.h"
#include "framework/learner/learner.h"

#include <cmath>
#include <utility>

namespace learn::callbacks {
namespace {

constexpr float kStaticScale = 512;
constexpr float kFirstDynamicScale = 0x1p16F;

}  // namespace

LossScaling::LossScaling(std::string precision,
                         const std::optional<float>& first_scale,
                         const LossScaleOptions& options)
    : state_{.name = std::move(precision), .first_scale = first_scale, .scaling = options} {
  if (!first_scale) return;
  check<UsageError>(std::isfinite(*first_scale) && *first_scale > 0,
                    "the loss scale must be positive and finite, got {}",
                    *first_scale);
  if (!options.dynamic) return;
  kernels::check_loss_scaling(options);
  check<UsageError>(options.floor <= *first_scale && *first_scale <= options.ceiling,
                    "the loss scale {} does not lie between its floor {} and its ceiling {}",
                    *first_scale,
                    options.floor,
                    options.ceiling);
}

void LossScaling::begin_fit(Learner& learn) {
  // Where none is used, too: gradients of a half model are multiplied by the inverse of whatever is
  // there.
  if (!used() || !state_.scale_set)
    kernels::set_loss_scale(
        learn.context(), state_.first_scale.value_or(1), learn.optimizer().control());
  state_.scale_set = used();
  const StepControl control = learn.optimizer().read_control();
  epoch_steps_ = control.step;
  epoch_skipped_ = control.skipped;
}

void LossScaling::enter(Learner& learn) const {
  if (used()) learn.optimizer().set_loss_scaling(state_.scaling);
}

void LossScaling::leave(Learner& learn) { learn.optimizer().set_loss_scaling({.dynamic = false}); }

void LossScaling::seed(Learner& learn) const {
  if (used()) learn.set_seed(learn.optimizer().loss_scale());
}

void LossScaling::end_epoch(const Learner& learn) {
  const StepControl control = learn.optimizer().read_control();
  const std::int64_t steps = control.step - std::exchange(epoch_steps_, control.step);
  const std::int64_t skipped = control.skipped - std::exchange(epoch_skipped_, control.skipped);
  log::debug(
      "[mixed_precision] {} steps, {} skipped, loss scale {}", steps, skipped, control.loss_scale);
  const bool cannot_recover =
      !used() || !state_.scaling.dynamic || control.loss_scale <= state_.scaling.floor;
  if (steps == 0 && skipped > 0 && cannot_recover)
    fail<DivergedError>(
        "all {} steps of epoch {} had gradients that are not finite, at a loss scale of {}: lower "
        "the learning rate or the scale, or train in fp32",
        skipped,
        learn.progress().epoch + 1,
        control.loss_scale);
}

float first_loss_scale(const std::optional<float>& given, const LossScaleOptions& options) {
  return given.value_or(options.dynamic ? kFirstDynamicScale : kStaticScale);
}

void declare_loss_scaling(OptionTable& t,
                          std::optional<float>& loss_scale,
                          LossScaleOptions& options) {
  t.number("loss_scale",
           loss_scale,
           kPositive,
           "X",
           "initial loss scale of f16; default: 65536, or 512 if static");
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
           "overflows in a row from which on the loss scale backs off");
  t.number("floor", options.floor, kPositive, "X", "the loss scale falls no lower");
  t.number("ceiling", options.ceiling, kPositive, "X", "the loss scale grows no higher");
}

}  // namespace learn::callbacks
