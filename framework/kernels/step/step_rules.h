#pragma once
#include "framework/core/random.h"
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/step/loss_scale_options.h"

/// Operations on the control block as plain functions that host and device code share.
namespace learn::step_rules {

LEARN_HD constexpr void begin(StepControl& control) {
  control.found_inf = 0;
  control.grad_multiplier = 1;
}

/// Adding 1e-6 avoids a division by a norm of zero, as in PyTorch's clip_grad_norm_.
LEARN_HD constexpr void clip_by_norm(StepControl& control, float norm, float max_norm) {
  const float coefficient = max_norm / (norm * control.grad_multiplier + 1e-6F);
  const bool finite = norm - norm == 0;
  if (finite && coefficient < 1) control.grad_multiplier *= coefficient;
}

LEARN_HD constexpr void set_scale(StepControl& control, float scale) {
  control.loss_scale = scale;
  control.inverse_scale = 1 / scale;
  control.clean_steps = 0;
}

LEARN_HD constexpr void update_scale(StepControl& control, const LossScaleOptions& options) {
  if (!options.dynamic) return;
  const float scale = control.loss_scale;
  if (control.found_inf != 0) {
    const bool shrinks = control.overflows >= options.hysteresis;
    const float lower = shrinks ? scale * options.backoff_factor : scale;
    set_scale(control, lower < options.floor ? options.floor : lower);
  } else if (++control.clean_steps >= options.growth_interval) {
    const float higher = scale * options.growth_factor;
    set_scale(control, higher > options.ceiling ? options.ceiling : higher);
  }
}

LEARN_HD constexpr void end(StepControl& control, const LossScaleOptions& scaling) {
  ++(control.found_inf != 0 ? control.skipped : control.step);
  control.overflows = control.found_inf != 0 ? control.overflows + 1 : 0;
  control.grad_multiplier = 1;
  update_scale(control, scaling);
}

/// The rules that run in separate launches.
struct Write {
  static constexpr const char* kName = "write_control";
  StepControl value;
  LEARN_HD void operator()(StepControl& control) const { control = value; }
};
struct SetScale {
  static constexpr const char* kName = "set_loss_scale";
  float scale;
  LEARN_HD void operator()(StepControl& control) const { set_scale(control, scale); }
};
/// Copies only the scale of another block.
struct ShareScale {
  static constexpr const char* kName = "share_loss_scale";
  const StepControl* from;
  LEARN_HD void operator()(StepControl& control) const {
    control.loss_scale = from->loss_scale;
    control.inverse_scale = from->inverse_scale;
  }
};
/// Sets `found_inf` if another block has found an overflow.
struct CollectFoundInf {
  static constexpr const char* kName = "collect_found_inf";
  const StepControl* from;
  LEARN_HD void operator()(StepControl& control) const {
    if (from->found_inf != 0) control.found_inf = 1;
  }
};
struct Begin {
  static constexpr const char* kName = "begin_step";
  LEARN_HD void operator()(StepControl& control) const { begin(control); }
};

}  // namespace learn::step_rules
