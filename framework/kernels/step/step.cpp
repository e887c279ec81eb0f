#include "framework/kernels/step/step.h"

#include "framework/kernels/step/step_kernels.h"
#include "framework/runtime/dispatch.h"

#include <cmath>

namespace learn::kernels {
namespace {

template <class Rule>
void apply(Context& ctx, const Rule& rule, DeviceArray<StepControl>& control) {
  check_device(ctx, Rule::kName, control);
  with_executor(ctx, [&](const auto& exec) { change(exec, rule, control.data()); });
}

/// Returns whether a loss scale is valid. Its inverse must be finite because gradients are
/// multiplied by it.
bool is_scale(float value) { return value > 0 && std::isfinite(value) && std::isfinite(1 / value); }

void check_statistics(Context& ctx, const char* op, const Tensor& tensor) {
  check<DTypeError>(tensor.dtype() == DType::f32,
                    "{}: running statistics must be f32, not {}",
                    op,
                    tensor.dtype());
  check_device(ctx, op, tensor);
}

}  // namespace

void write_control(Context& ctx, const StepControl& value, DeviceArray<StepControl>& control) {
  apply(ctx, step_rules::Write{value}, control);
}

void set_loss_scale(Context& ctx, float scale, DeviceArray<StepControl>& control) {
  if (!is_scale(scale))
    fail<UsageError>("the loss scale must be positive and finite, not {}", scale);
  apply(ctx, step_rules::SetScale{scale}, control);
}

void share_loss_scale(Context& ctx,
                      const DeviceArray<StepControl>& from,
                      DeviceArray<StepControl>& to) {
  check_device(ctx, step_rules::ShareScale::kName, from);
  apply(ctx, step_rules::ShareScale{from.data()}, to);
}

void collect_found_inf(Context& ctx,
                       const DeviceArray<StepControl>& from,
                       DeviceArray<StepControl>& to) {
  check_device(ctx, step_rules::CollectFoundInf::kName, from);
  apply(ctx, step_rules::CollectFoundInf{from.data()}, to);
}

void check_loss_scaling(const LossScaleOptions& scaling) {
  if (!(scaling.growth_factor > 1 && std::isfinite(scaling.growth_factor)))
    fail<UsageError>("loss scale: it must grow by a factor above 1, not {}", scaling.growth_factor);
  if (!(scaling.backoff_factor > 0 && scaling.backoff_factor < 1))
    fail<UsageError>("loss scale: it must back off by a factor between 0 and 1, not {}",
                     scaling.backoff_factor);
  if (scaling.growth_interval < 1 || scaling.hysteresis < 1)
    fail<UsageError>(
        "loss scale: its growth interval {} and its hysteresis {} are in steps, at least 1",
        scaling.growth_interval,
        scaling.hysteresis);
  if (!(is_scale(scaling.floor) && scaling.ceiling >= scaling.floor && is_scale(scaling.ceiling)))
    fail<UsageError>(
        "loss scale: the floor {} must be positive and at most the ceiling {}, and both and their "
        "reciprocals must be finite",
        scaling.floor,
        scaling.ceiling);
}

void check_loss_scaling(const LossScaleOptions& scaling, float scale) {
  check_loss_scaling(scaling);
  if (!is_scale(scale))
    fail<UsageError>("the loss scale and its reciprocal must be positive and finite, got {}",
                     scale);
  if (scaling.dynamic && (scale < scaling.floor || scale > scaling.ceiling))
    fail<UsageError>("the loss scale {} must be between its floor {} and its ceiling {}",
                     scale,
                     scaling.floor,
                     scaling.ceiling);
}

void begin_step(Context& ctx, DeviceArray<StepControl>& control) {
  apply(ctx, step_rules::Begin{}, control);
}

void end_step(Context& ctx,
              Tensor& live,
              Tensor& committed,
              const LossScaleOptions& scaling,
              DeviceArray<StepControl>& control) {
  constexpr const char* kOp = "end_step";
  check_loss_scaling(scaling);
  check_same(kOp, live, committed);
  check_statistics(ctx, kOp, live);
  check_statistics(ctx, kOp, committed);
  check_device(ctx, kOp, control);
  with_executor(ctx, [&](const auto& exec) {
    end_step(exec,
             live.data<float>(),
             committed.data<float>(),
             live.elements(),
             scaling,
             control.data());
  });
}

}  // namespace learn::kernels
