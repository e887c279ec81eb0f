#include "framework/kernels/step/loss_scale.h"

#include "framework/kernels/step/loss_scale_cpu.h"
#include "framework/kernels/step/loss_scale_cuda.h"
#include "framework/kernels/step/loss_scale_reference.h"
#include "framework/kernels/step/step_rules.h"
#include "framework/runtime/dispatch.h"
#include "framework/runtime/transfer.h"

#include <cmath>

namespace learn::kernels {
namespace {

/// Lets `rule` change the block, or `on_device(stream, block)`.
template <class Rule, class Cuda>
void change(
    Context& ctx, const char* op, DeviceArray<StepControl>& control, Rule rule, Cuda on_device) {
  check_device(ctx, op, control);
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda) on_device(ctx.cuda().compute(), control.data());
    return;
  }
  rule(*control.data());
}

void check_full(Context& ctx, const char* op, const Tensor& grads) {
  check<DTypeError>(
      grads.dtype() == DType::f32, "{}: master gradients are f32, got {}", op, grads.dtype());
  check_device(ctx, op, grads);
}

/// Calls `f.operator()<T>()` for f32, f16 or bf16.
template <class F>
void for_gradient_type(const char* op, DType dtype, F f) {
  check<DTypeError>(dtype != DType::f64, "{}: gradients are f32, f16 or bf16, got f64", op);
  for_floating(op, dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, double>) f.template operator()<T>();
  });
}

}  // namespace

void write_control(Context& ctx, const StepControl& value, DeviceArray<StepControl>& control) {
  change(
      ctx,
      "write_control",
      control,
      [&](StepControl& c) { c = value; },
      [&](cuda::Stream stream, StepControl* c) { cuda::write_control(stream, value, c); });
}

void set_loss_scale(Context& ctx, float scale, DeviceArray<StepControl>& control) {
  if (!(scale > 0) || !std::isfinite(scale))
    fail<UsageError>("the loss scale must be positive and finite, not {}", scale);
  change(
      ctx,
      "set_loss_scale",
      control,
      [&](StepControl& c) { step_rules::set_scale(c, scale); },
      [&](cuda::Stream stream, StepControl* c) { cuda::set_loss_scale(stream, scale, c); });
}

void begin_step(Context& ctx, DeviceArray<StepControl>& control) {
  change(ctx, "begin_step", control, step_rules::begin, [](cuda::Stream stream, StepControl* c) {
    cuda::begin_step(stream, c);
  });
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
  check_full(ctx, kOp, live);
  check_full(ctx, kOp, committed);
  check_device(ctx, kOp, control);
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda)
      cuda::end_step(ctx.cuda().compute(),
                     live.data<float>(),
                     committed.data<float>(),
                     live.elements(),
                     scaling,
                     control.data());
    return;
  }
  if (control.data()->found_inf != 0)
    copy(ctx, committed, live);
  else
    copy(ctx, live, committed);
  step_rules::end(*control.data(), scaling);
}

void gather_half_grads(Context& ctx,
                       const Tensor& half,
                       Tensor& grads,
                       DeviceArray<StepControl>& control,
                       GradMode mode) {
  constexpr const char* kOp = "gather_half_grads";
  check(half.shape() == grads.shape(),
        "{}: shapes differ: {} and {}",
        kOp,
        half.shape(),
        grads.shape());
  check<DTypeError>(
      is_half(half.dtype()), "{}: half gradients are f16 or bf16, got {}", kOp, half.dtype());
  check_device(ctx, kOp, half);
  check_full(ctx, kOp, grads);
  check_device(ctx, kOp, control);
  const bool on_cuda = ctx.device().is_cuda();
  const float factor = on_cuda ? 0 : control.data()->inverse_scale;
  for_gradient_type(kOp, half.dtype(), [&]<class T>() {
    const T* from = half.data<T>();
    float* to = grads.data<float>();
    const std::int64_t n = half.elements();
    if (on_cuda) {
      if constexpr (kHaveCuda && !std::is_same_v<T, float>)
        cuda::unscale(ctx.cuda().compute(), from, to, control.data(), mode, n);
      return;
    }
    const bool finite = ctx.reference()
                            ? cpu::reference::scale_to_f32(from, factor, to, mode, n)
                            : cpu::scale_to_f32(ctx.threads(), from, factor, to, mode, n);
    if (!finite) control.data()->found_inf = 1;
  });
}

void unscale_grads(Context& ctx, Tensor& grads, DeviceArray<StepControl>& control) {
  constexpr const char* kOp = "unscale_grads";
  check_full(ctx, kOp, grads);
  check_device(ctx, kOp, control);
  auto* g = grads.data<float>();
  const std::int64_t n = grads.elements();
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda) cuda::unscale_in_place(ctx.cuda().compute(), g, control.data(), n);
    return;
  }
  const float factor = control.data()->inverse_scale;
  const bool finite = ctx.reference()
                          ? cpu::reference::scale_to_f32(g, factor, g, GradMode::overwrite, n)
                          : cpu::scale_to_f32(ctx.threads(), g, factor, g, GradMode::overwrite, n);
  if (!finite) control.data()->found_inf = 1;
}

void find_non_finite(Context& ctx, const Tensor& x, DeviceArray<StepControl>& control) {
  constexpr const char* kOp = "find_non_finite";
  check_device(ctx, kOp, x);
  check_device(ctx, kOp, control);
  for_gradient_type(kOp, x.dtype(), [&]<class T>() {
    if (ctx.device().is_cuda()) {
      if constexpr (kHaveCuda)
        cuda::find_non_finite(ctx.cuda().compute(), x.data<T>(), control.data(), x.elements());
      return;
    }
    const bool finite = ctx.reference() ? cpu::reference::all_finite(x.data<T>(), x.elements())
                                        : cpu::all_finite(ctx.threads(), x.data<T>(), x.elements());
    if (!finite) control.data()->found_inf = 1;
  });
}

namespace {

void check_norm(Context& ctx,
                const char* op,
                const std::vector<Tensor>& parts,
                const Tensor& norm) {
  check(norm.elements() == 1, "{}: the norm has one element, not shape {}", op, norm.shape());
  check_full(ctx, op, norm);
  for (const Tensor& part : parts) check_full(ctx, op, part);
}

/// All parts into one workspace, then one square root, and the clipping if there is a block.
[[maybe_unused]] void norm_on_device(Context& ctx,
                                     const std::vector<Tensor>& parts,
                                     Tensor& norm,
                                     float max_norm = 0,
                                     StepControl* control = nullptr) {
  if constexpr (kHaveCuda) {
    std::int64_t floats = 0;
    for (const Tensor& part : parts) floats += cuda::squares_workspace(part.elements());
    Tensor workspace = ctx.empty({floats}, DType::f32);
    float* at = workspace.data<float>();
    for (const Tensor& part : parts) {
      cuda::add_squares(ctx.cuda().compute(), part.data<float>(), part.elements(), at);
      at += cuda::squares_workspace(part.elements());
    }
    cuda::join_norm(ctx.cuda().compute(),
                    floats,
                    workspace.data<float>(),
                    norm.data<float>(),
                    max_norm,
                    control);
  }
}

}  // namespace

void l2_norm(Context& ctx, const std::vector<Tensor>& parts, Tensor& norm) {
  constexpr const char* kOp = "l2_norm";
  check_norm(ctx, kOp, parts, norm);
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda) norm_on_device(ctx, parts, norm);
    return;
  }
  double sum = 0;
  for (const Tensor& part : parts) {
    const auto* x = part.data<float>();
    sum += ctx.reference() ? cpu::reference::sum_of_squares(x, part.elements())
                           : cpu::sum_of_squares(ctx.threads(), x, part.elements());
  }
  *norm.data<float>() = static_cast<float>(std::sqrt(sum));
}

void clip_by_norm(Context& ctx,
                  const std::vector<Tensor>& parts,
                  float max_norm,
                  Tensor& norm,
                  DeviceArray<StepControl>& control) {
  constexpr const char* kOp = "clip_by_norm";
  if (!(max_norm > 0))
    fail<UsageError>("the largest gradient norm must be positive, not {}", max_norm);
  check_norm(ctx, kOp, parts, norm);
  check_device(ctx, kOp, control);
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda) norm_on_device(ctx, parts, norm, max_norm, control.data());
    return;
  }
  l2_norm(ctx, parts, norm);
  step_rules::clip_by_norm(*control.data(), *norm.data<float>(), max_norm);
}

void clip_by_value(Context& ctx,
                   Tensor& grads,
                   float limit,
                   const DeviceArray<StepControl>& control) {
  constexpr const char* kOp = "clip_by_value";
  if (!(limit > 0)) fail<UsageError>("the gradient limit must be positive, not {}", limit);
  check_full(ctx, kOp, grads);
  check_device(ctx, kOp, control);
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda)
      cuda::clip_by_value(
          ctx.cuda().compute(), grads.data<float>(), limit, control.data(), grads.elements());
    return;
  }
  const float own = limit / control.data()->grad_multiplier;
  if (ctx.reference())
    cpu::reference::clamp(grads.data<float>(), own, grads.elements());
  else
    cpu::clamp(ctx.threads(), grads.data<float>(), own, grads.elements());
}

}  // namespace learn::kernels
