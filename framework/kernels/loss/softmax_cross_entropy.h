#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Loss and gradient in one pass over logits (N,classes) of any floating dtype, N >= 1, computed in
/// f32 (f64 for f64): the wide type. `target` is (N) i64 classes, or (N,classes) weights of the
/// wide type, which need not add up to 1. With smoothing e in [0,1] the target becomes (1 - e) *
/// target + e / classes, as PyTorch. `loss`, one element of the wide type, is the mean over the
/// samples; `gradient` (N,classes) of the wide type is d loss / d logits, not computed if
/// undefined. It is wide because d loss / d logits is about 1 / N: halves would lose it before the
/// loss scale reaches it. Throws ShapeError, DTypeError, DeviceError, UsageError for a bad
/// smoothing, and DataError for a class out of range: on a CUDA device at the next synchronisation,
/// the loss being NaN until then.
void softmax_cross_entropy(Context& ctx,
                           const Tensor& logits,
                           const Tensor& target,
                           float label_smoothing,
                           Tensor& loss,
                           Tensor& gradient);

/// dx (+)= gradient * dloss: all that is left to do after the forward pass. `dloss` has one element
/// of the wide type.
void softmax_cross_entropy_backward(
    Context& ctx, const Tensor& gradient, const Tensor& dloss, Tensor& dx, GradMode mode);

/// Probabilities of logits (N,classes), of the wide type. Throws ShapeError, DTypeError,
/// DeviceError.
void softmax(Context& ctx, const Tensor& logits, Tensor& probabilities);

}  // namespace learn::kernels
