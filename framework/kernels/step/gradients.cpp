#include "framework/kernels/step/gradients.h"

#include "framework/kernels/step/gradients_kernels.h"
#include "framework/kernels/step/gradients_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
namespace {

void check_full(Context& ctx, const char* op, const Tensor& grads) {
  check<DTypeError>(
      grads.dtype() == DType::f32, "{}: master gradients must be f32, not {}", op, grads.dtype());
  check_device(ctx, op, grads);
}

/// Calls `f.operator()<T>(executor)` for f32, f16 or bf16.
template <class F>
void for_gradient_type(Context& ctx, const char* op, DType dtype, F f) {
  check<DTypeError>(dtype != DType::f64, "{}: gradients are f32, f16 or bf16, got f64", op);
  dispatch(ctx, op, dtype, [&]<class T>(const auto& exec) {
    if constexpr (!std::same_as<T, double>) f.template operator()<T>(exec);
  });
}

/// Computes norm = the L2 norm of all parts. If there is a control block, lowers its multiplier
/// accordingly.
void norm_of(Context& ctx,
             const char* op,
             const std::vector<Tensor>& parts,
             Tensor& norm,
             float max_norm,
             StepControl* control) {
  check(norm.elements() == 1, "{}: the norm must have one element, not shape {}", op, norm.shape());
  check_full(ctx, op, norm);
  const DType dtype = parts.empty() ? DType::f32 : parts.front().dtype();
  for (const Tensor& part : parts) {
    check<DTypeError>(
        part.dtype() == dtype, "{}: dtypes differ: {} and {}", op, part.dtype(), dtype);
    check_device(ctx, op, part);
  }
  for_gradient_type(ctx, op, dtype, [&]<class T>(const auto& exec) {
    std::vector<Range<T>> ranges;
    ranges.reserve(parts.size());
    for (const Tensor& part : parts) ranges.push_back({part.data<T>(), part.elements()});
    clip_by_norm<T>(exec, ranges, norm.data<float>(), max_norm, control);
  });
}

}  // namespace

void unscale_to_master_grads(Context& ctx,
                             const Tensor& half,
                             Tensor& grads,
                             DeviceArray<StepControl>& control,
                             GradMode mode) {
  constexpr const char* kOp = "unscale_to_master_grads";
  check(half.shape() == grads.shape(),
        "{}: shapes differ: {} and {}",
        kOp,
        half.shape(),
        grads.shape());
  check<DTypeError>(
      is_half(half.dtype()), "{}: half gradients must be f16 or bf16, not {}", kOp, half.dtype());
  check_device(ctx, kOp, half);
  check_full(ctx, kOp, grads);
  check_device(ctx, kOp, control);
  for_gradient_type(ctx, kOp, half.dtype(), [&]<class T>(const auto& exec) {
    if constexpr (!std::same_as<T, float>)
      unscale(exec, half.data<T>(), grads.data<float>(), control.data(), mode, half.elements());
  });
}

void unscale_grads(Context& ctx, Tensor& grads, DeviceArray<StepControl>& control) {
  constexpr const char* kOp = "unscale_grads";
  check_full(ctx, kOp, grads);
  check_device(ctx, kOp, control);
  with_executor(ctx, [&](const auto& exec) {
    unscale_in_place(exec, grads.data<float>(), control.data(), grads.elements());
  });
}

void find_non_finite(Context& ctx, const Tensor& x, DeviceArray<StepControl>& control) {
  constexpr const char* kOp = "find_non_finite";
  check_device(ctx, kOp, x);
  check_device(ctx, kOp, control);
  for_gradient_type(ctx, kOp, x.dtype(), [&]<class T>(const auto& exec) {
    find_non_finite(exec, x.data<T>(), control.data(), x.elements());
  });
}

void l2_norm(Context& ctx, const std::vector<Tensor>& parts, Tensor& norm) {
  norm_of(ctx, "l2_norm", parts, norm, 0, nullptr);
}

void clip_by_norm(Context& ctx,
                  const std::vector<Tensor>& parts,
                  float max_norm,
                  Tensor& norm,
                  DeviceArray<StepControl>& control) {
  constexpr const char* kOp = "clip_by_norm";
  if (!(max_norm > 0))
    fail<UsageError>("the largest gradient norm must be positive, not {}", max_norm);
  check_device(ctx, kOp, control);
  norm_of(ctx, kOp, parts, norm, max_norm, control.data());
}

void clip_by_value(Context& ctx,
                   Tensor& grads,
                   float limit,
                   const DeviceArray<StepControl>& control) {
  constexpr const char* kOp = "clip_by_value";
  if (!(limit > 0)) fail<UsageError>("the gradient limit must be positive, not {}", limit);
  check_device(ctx, kOp, grads);
  check_device(ctx, kOp, control);
  for_gradient_type(ctx, kOp, grads.dtype(), [&]<class T>(const auto& exec) {
    clip_by_value(exec, grads.data<T>(), limit, control.data(), grads.elements());
  });
}

}  // namespace learn::kernels
