#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/common/step_control.h"
#include "framework/runtime/context.h"
#include "framework/runtime/device_array.h"

#include <vector>

/// Operations on gradients for mixed precision and clipping. All are asynchronous. Every function
/// throws ShapeError, DTypeError, DeviceError.
namespace learn::kernels {

/// Computes grads (+)= half * control.inverse_scale, with half in f16 or bf16, grads in f32, and
/// the same shape. Sets `control.found_inf` if a result is not finite.
void unscale_to_master_grads(Context& ctx,
                             const Tensor& half,
                             Tensor& grads,
                             DeviceArray<StepControl>& control,
                             GradMode mode);
/// Computes grads *= control.inverse_scale in place, in f32. Sets `control.found_inf` if a result
/// is not finite.
void unscale_grads(Context& ctx, Tensor& grads, DeviceArray<StepControl>& control);
/// Sets `control.found_inf` if an element of `x` (f32, f16 or bf16) is infinite or NaN.
void find_non_finite(Context& ctx, const Tensor& x, DeviceArray<StepControl>& control);

/// Computes norm, one f32 element, = the L2 norm of all elements of `parts` (f32, f16 or bf16, all
/// the same). It adds one double partial sum per chunk, in order, so the result is identical, bit
/// for bit, for any number of threads.
void l2_norm(Context& ctx, const std::vector<Tensor>& parts, Tensor& norm);
/// Computes norm = `l2_norm` of the gradients `parts`. Multiplies `control.grad_multiplier` by
/// min(1, max_norm / (norm * grad_multiplier + 1e-6)), so that the norm of the gradients that the
/// optimizer applies is at most `max_norm` (PyTorch's clip_grad_norm_). A norm that is not finite
/// changes nothing. Throws UsageError unless `max_norm` is positive.
void clip_by_norm(Context& ctx,
                  const std::vector<Tensor>& parts,
                  float max_norm,
                  Tensor& norm,
                  DeviceArray<StepControl>& control);
/// Clamps grads (f32, f16 or bf16, in place) so that the values that the optimizer applies, grads *
/// grad_multiplier, are in [-limit, limit]. NaN stays NaN.
void clip_by_value(Context& ctx,
                   Tensor& grads,
                   float limit,
                   const DeviceArray<StepControl>& control);

}  // namespace learn::kernels
