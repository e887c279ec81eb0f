#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/common/step_control.h"
#include "framework/nn/param_store.h"
#include "framework/runtime/device_array.h"

/// Operations of mixed precision and clipping on all trained gradients of a store: the functions of
/// kernels/step/gradients.h over its runs.
namespace learn::optim {

/// Half gradients (+)= into the f32 master gradients, times `control.inverse_scale`; with the
/// overflow look-up. Then they are dropped: the next backward pass overwrites them. Nothing where
/// the model is f32.
void unscale_half_gradients(nn::ParamStore& store,
                            DeviceArray<StepControl>& control,
                            GradMode mode);
/// Gradients of parameters that are f32 in the model times `control.inverse_scale`, in place; with
/// the overflow look-up.
void unscale_full_gradients(nn::ParamStore& store, DeviceArray<StepControl>& control);
/// Sets `control.found_inf` if a gradient that the model wrote (half or f32, still scaled) is not
/// finite.
void find_non_finite_gradients(nn::ParamStore& store, DeviceArray<StepControl>& control);

/// Zeroes the gradient of each trained parameter that took no part in the backward pass.
void zero_missing_gradients(nn::ParamStore& store);

/// L2 norm of all trained f32 master gradients: one f32 element on the device, in `norm`.
void gradient_norm(nn::ParamStore& store, Tensor& norm);
/// Clips by the global norm: changes `control.grad_multiplier` only. `norm` receives the norm
/// before clipping, without `grad_multiplier`.
void clip_gradient_norm(nn::ParamStore& store,
                        float max_norm,
                        Tensor& norm,
                        DeviceArray<StepControl>& control);
/// Clamps each trained f32 master gradient to [-limit, limit].
void clip_gradient_value(nn::ParamStore& store,
                         float limit,
                         const DeviceArray<StepControl>& control);

}  // namespace learn::optim
