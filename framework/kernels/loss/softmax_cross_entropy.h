#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/loss/softmax_form.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Computes loss and gradient in one pass over logits (N,classes) of any floating dtype, N >= 1, in
/// the wide type: f32 (f64 for f64). `target` is (N) i64 classes, or (N,classes) weights of the
/// wide type, which need not add up to 1. With smoothing e in [0,1] the target becomes (1 - e) *
/// target + e / classes, as in PyTorch. `loss`, one element of the wide type, is the mean over the
/// samples. `gradient` (N,classes) of the wide type is d loss / d logits and is not computed if
/// undefined. It is wide because d loss / d logits is about 1 / N, and halves would lose it before
/// the loss scale is applied. Throws ShapeError, DTypeError, DeviceError, UsageError for an invalid
/// smoothing, and DataError for a class out of range. On a CUDA device the DataError is thrown at
/// the next synchronization, and the loss is NaN until then.
void softmax_cross_entropy(Context& ctx,
                           const Tensor& logits,
                           const Tensor& target,
                           float label_smoothing,
                           Tensor& loss,
                           Tensor& gradient);

/// Computes dx (+)= gradient * dloss, which completes the backward pass. `dloss` has one element of
/// the wide type.
void softmax_cross_entropy_backward(
    Context& ctx, const Tensor& gradient, const Tensor& dloss, Tensor& dx, GradMode mode);

/// Computes the probabilities of logits (N,classes), in the wide type. Throws ShapeError,
/// DTypeError, DeviceError.
void softmax(Context& ctx, const Tensor& logits, Tensor& probabilities);
/// Computes the logarithms of the probabilities, in the wide type.
void log_softmax(Context& ctx, const Tensor& logits, Tensor& logarithms);

/// Computes dx (+)= the gradient of logits (N,classes), where `y` are their probabilities, or the
/// logarithms of them, and `dy` is the gradient of y. All have one floating dtype.
void softmax_backward(
    Context& ctx, SoftmaxForm form, const Tensor& y, const Tensor& dy, Tensor& dx, GradMode mode);

}  // namespace learn::kernels
