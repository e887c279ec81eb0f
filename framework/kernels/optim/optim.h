#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/runtime/context.h"
#include "framework/runtime/device_array.h"

#include <cstdint>
#include <span>

/// Optimizer updates, each one pass over a segment of the flat buffers. Values that change from
/// step to step are read from device memory. Every function throws ShapeError, DTypeError,
/// DeviceError, and changes nothing if `control.found_inf` is set.
namespace learn::kernels {

/// Writes the hyper-parameters of all groups to device memory. Does not wait, because the values
/// are passed with the launch.
void write_hypers(Context& ctx,
                  std::span<const GroupHypers> hypers,
                  DeviceArray<GroupHypers>& blocks);

/// The arguments of every update: views of one segment, all of shape (n).
struct OptimTensors {
  /// f32 masters, or f16 or bf16 weights without masters; updated. Gradients and state have the
  /// same dtype; arithmetic is in f32.
  Tensor weight;
  Tensor grad;  ///< read; multiplied by `control.grad_multiplier` first
  Tensor half;  ///< f16 or bf16 working copy, written with the rounded result; may be undefined
  DeviceArray<GroupHypers> hypers;   ///< one element
  DeviceArray<StepControl> control;  ///< read
  /// Updates that were applied while these parameters were frozen. Their step number, which
  /// controls the first momentum step and Adam's bias correction, is
  /// `control.step + 1 - missed_steps` (as in PyTorch, which counts per parameter).
  std::int64_t missed_steps = 0;
  /// If true, w *= 1 - lr * weight_decay before the update; otherwise g += weight_decay * w.
  bool decoupled_decay = true;
};

/// Updates by PyTorch's SGD. b = g at the first step, then b = momentum * b + (1 - dampening) * g;
/// w -= lr * (nesterov ? g + momentum * b : b). If `buffer` is undefined, w -= lr * g.
void sgd_step(Context& ctx, const OptimTensors& tensors, Tensor& buffer, bool nesterov);

/// Updates by Adam (Kingma & Ba 2015) in PyTorch's form; with decoupled decay it is AdamW
/// (Loshchilov & Hutter 2019). m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; w -=
/// lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps), with beta1 = hypers.momentum.
void adam_step(Context& ctx, const OptimTensors& tensors, Tensor& mean, Tensor& square);

/// State of RMSProp. A defined `mean` selects the centered form, a defined `buffer` selects
/// momentum.
struct RmsPropState {
  Tensor square, mean, buffer;
};

/// Updates by PyTorch's RMSProp with alpha = hypers.beta2. v = alpha v + (1 - alpha) g^2; d =
/// sqrt(v) + eps, centered d = sqrt(v - a^2) + eps with a = alpha a + (1 - alpha) g; b = momentum
/// b + g / d; w -= lr * b (without momentum w -= lr * g / d).
void rmsprop_step(Context& ctx, const OptimTensors& tensors, RmsPropState& state);

}  // namespace learn::kernels
