#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/common/step_control.h"
#include "framework/runtime/context.h"
#include "framework/runtime/device_array.h"

#include <vector>

/// Operations of mixed precision and clipping on gradients. All are asynchronous. Every function
/// throws ShapeError, DTypeError, DeviceError.
namespace learn::kernels {

/// grads (+)= half * control.inverse_scale; half f16 or bf16, grads f32, one shape. Sets
/// `control.found_inf` if a result is not finite.
void unscale_to_master_grads(Context& ctx,
                             const Tensor& half,
                             Tensor& grads,
                             DeviceArray<StepControl>& control,
                             GradMode mode);
/// grads *= control.inverse_scale, f32 in place. Sets `control.found_inf` if a result is not
/// finite.
void unscale_grads(Context& ctx, Tensor& grads, DeviceArray<StepControl>& control);
/// Sets `control.found_inf` if an element of `x` (f32, f16 or bf16) is infinite or NaN.
void find_non_finite(Context& ctx, const Tensor& x, DeviceArray<StepControl>& control);

/// norm, one f32 element, = L2 norm of all elements of `parts` (f32, f16 or bf16, all the same):
/// double partial sums, one per chunk, added in order, so the same bits for any number of threads.
void l2_norm(Context& ctx, const std::vector<Tensor>& parts, Tensor& norm);
/// norm = `l2_norm` of the gradients `parts`. Multiplies `control.grad_multiplier` by
/// min(1, max_norm / (norm * grad_multiplier + 1e-6)), so that the gradients the optimizer sees
/// have at most `max_norm` (PyTorch's clip_grad_norm_). A norm that is not finite changes nothing.
/// Throws UsageError unless `max_norm` is positive.
void clip_by_norm(Context& ctx,
                  const std::vector<Tensor>& parts,
                  float max_norm,
                  Tensor& norm,
                  DeviceArray<StepControl>& control);
/// Clamps grads (f32, f16 or bf16, in place) so that the optimizer's gradient, grads *
/// grad_multiplier, is in [-limit, limit]. NaN stays NaN.
void clip_by_value(Context& ctx,
                   Tensor& grads,
                   float limit,
                   const DeviceArray<StepControl>& control);

}  // namespace learn::kernels
