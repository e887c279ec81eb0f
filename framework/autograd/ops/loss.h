#pragma once
#include "framework/autograd/var.h"

namespace learn::ops {

/// Mean softmax cross-entropy of logits (N,classes), any floating dtype, as one f32 element (f64
/// for f64). `target` holds classes (N) i64 or soft targets (N,classes) f32 (f64 for f64).
/// Smoothing mixes the targets with the uniform distribution, as PyTorch. Throws DataError for a
/// class out of range.
[[nodiscard]] Var softmax_cross_entropy(const Var& logits,
                                        const Tensor& target,
                                        float label_smoothing);
/// Mean of (pred - target)^2 over all elements, one element, f32 (f64 for f64).
[[nodiscard]] Var mse(const Var& pred, const Tensor& target);

}  // namespace learn::ops
