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

void check_statistics(Context& ctx, const char* op, const Tensor& tensor) {
  check<DTypeError>(
      tensor.dtype() == DType::f32, "{}: running statistics are f32, got {}", op, tensor.dtype());
  check_device(ctx, op, tensor);
}

}  // namespace

void write_control(Context& ctx, const StepControl& value, DeviceArray<StepControl>& control) {
  apply(ctx, step_rules::Write{value}, control);
}

void set_loss_scale(Context& ctx, float scale, DeviceArray<StepControl>& control) {
  if (!(scale > 0) || !std::isfinite(scale))
    fail<UsageError>("the loss scale must be positive and finite, not {}", scale);
  apply(ctx, step_rules::SetScale{scale}, control);
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
  if (!(scaling.factor > 1) || !(scaling.floor > 0) || !(scaling.ceiling >= scaling.floor) ||
      scaling.growth_interval < 1)
    fail<UsageError>(
        "loss scale: factor {} must be above 1, floor {} above 0, ceiling {} not below the floor, "
        "growth interval {} at least 1",
        scaling.factor,
        scaling.floor,
        scaling.ceiling,
        scaling.growth_interval);
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
