#pragma once
#include "framework/autograd/ops/map.h"
#include "framework/autograd/tape.h"
#include "framework/autograd/var.h"
#include "framework/kernels/common/activation_kind.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/conv/conv_options.h"
#include "framework/kernels/norm/batch_norm_options.h"
#include "framework/kernels/pool/pool_options.h"
#include "framework/runtime/context.h"

#include <cstdint>
#include <span>
#include <vector>

/// All operations on a Var.
namespace learn::ops {

/// a + b and a * b of one dtype, broadcast as in NumPy.
[[nodiscard]] Var add(const Var& a, const Var& b);
[[nodiscard]] Var mul(const Var& a, const Var& b);
/// x * factor.
[[nodiscard]] Var scale(const Var& x, double factor);
/// x (...,C) + bias (C).
[[nodiscard]] Var add_bias(const Var& x, const Var& bias);
/// Another floating dtype; returns `x` itself if it has that dtype. The gradient is cast back.
[[nodiscard]] Var cast(const Var& x, DType dtype);
/// Reinterprets the elements in another shape; shares memory.
[[nodiscard]] Var reshape(const Var& x, const Shape& shape);
/// (N,...) -> (N, rest); shares memory.
[[nodiscard]] Var flatten(const Var& x);
/// Joins tensors that agree in all but dimension `axis` (negative counts from the end).
[[nodiscard]] Var concat(std::span<const Var> parts, int axis);
/// In training mode each element is zeroed with probability `p` in [0,1) and the rest scaled by
/// 1/(1-p); the mask is random4(seed, dropout, batch, stream and element), so it depends on nothing
/// else. Elements are counted from the whole batch's first row, with the rows in x's first
/// dimension (TapeOptions::first_row). In eval mode returns `x` itself. Throws UsageError for a bad
/// `p`.
[[nodiscard]] Var dropout(const Var& x, double p);
/// Sum and mean of all elements: one element of shape (), f32 (f64 for f64 input).
[[nodiscard]] Var sum(const Var& x);
[[nodiscard]] Var mean(const Var& x);

// Elementwise mathematics of any shape and floating dtype, each one line of `map` (ADR 0031): so
// is what you miss here. Two operands have one dtype and are broadcast as in
// NumPy; values and gradients at the borders are PyTorch's, but that the derivative of `clamp` at
// NaN is 1, not 0.
//
// Each operation rounds its result to the dtype of its operands. In f16 the square of 256 is
// infinite, so what divides by a root of squares (a normalization, a cosine) gives 0 without a
// NaN, as the same operations do in PyTorch, whose own layers compute in f32 inside. Do so, too:
// cast the operand to f32 first (`ops::cast`), and the result back; or write it as one `map`.

[[nodiscard]] Var sub(const Var& a, const Var& b);
[[nodiscard]] Var div(const Var& a, const Var& b);
/// base^exponent.
[[nodiscard]] Var pow(const Var& base, const Var& exponent);
[[nodiscard]] Var pow(const Var& base, double exponent);
/// NaN if one of them is. If they are equal, each gets half of the gradient.
[[nodiscard]] Var minimum(const Var& a, const Var& b);
[[nodiscard]] Var maximum(const Var& a, const Var& b);
/// Within [low, high]; the borders pass no gradient on. Throws UsageError if low > high.
[[nodiscard]] Var clamp(const Var& x, double low, double high);
[[nodiscard]] Var abs(const Var& x);
[[nodiscard]] Var sqrt(const Var& x);
[[nodiscard]] Var exp(const Var& x);
[[nodiscard]] Var log(const Var& x);
[[nodiscard]] Var sigmoid(const Var& x);
/// Sine of radians.
[[nodiscard]] Var sin(const Var& x);
[[nodiscard]] Var cos(const Var& x);
[[nodiscard]] Var tanh(const Var& x);
/// log(1 + exp(x)), which does not overflow.
[[nodiscard]] Var softplus(const Var& x);

/// The dimensions that a reduction is over: negative ones count from the end, each once, in any
/// order.
using Axes = std::vector<int>;

/// Sum and mean over `axes` of a floating x, of its dtype: summed in f32 and rounded once.
/// `keepdim` leaves each axis with extent 1, so that the result is broadcast against x; otherwise
/// the axes are removed. All throw UsageError for an axis that does not exist or is repeated, or
/// without axes.
[[nodiscard]] Var sum(const Var& x, const Axes& axes, bool keepdim = false);
/// Throws ShapeError over no elements; so do `max` and `min`.
[[nodiscard]] Var mean(const Var& x, const Axes& axes, bool keepdim = false);
/// The largest and the least; NaN if there is one. Elements that are equally large share the
/// gradient, as in PyTorch's amax.
[[nodiscard]] Var max(const Var& x, const Axes& axes, bool keepdim = false);
[[nodiscard]] Var min(const Var& x, const Axes& axes, bool keepdim = false);

/// exp(x) / sum exp(x) over the last dimension, and its logarithm; what is large does not overflow.
/// Halves are computed in f32 and rounded once.
[[nodiscard]] Var softmax(const Var& x);
[[nodiscard]] Var log_softmax(const Var& x);

/// For `Node::backward`: `sum` (+)= `whole` summed over what was broadcast from its shape. `whole`
/// is f32, or f64 for an f64 sum.
void sum_to(Context& ctx, const Tensor& whole, Tensor& sum, GradMode mode);

// Elements at other places. Memory is always contiguous, so all of these copy; `reshape` does not.

/// Elements [begin, end) of dimension `axis`; negative numbers count from the end, in `begin` and
/// `end` too. Throws UsageError for an axis or a range that is not there.
[[nodiscard]] Var slice(const Var& x, int axis, std::int64_t begin, std::int64_t end);
/// Dimensions `a` and `b` in each other's place; negative ones count from the end. Throws
/// UsageError for one that is not there.
[[nodiscard]] Var transpose(const Var& x, int a, int b);
/// Dimension i of the result is x's dimension `order[i]`. Throws UsageError unless each is named
/// once.
[[nodiscard]] Var permute(const Var& x, std::vector<int> order);

/// Matrix products of one floating dtype; halves accumulate in f32. (M,K) x (K,N) -> (M,N); with
/// leading dimensions (...,M,K) x (K,N) -> (...,M,N), and matrix by matrix (...,M,K) x (...,K,N)
/// where they are the same on both sides. Under autocast the operands are cast to the half. Throws
/// ShapeError, with both shapes, if they do not fit or an extent is 0; DTypeError.
[[nodiscard]] Var matmul(const Var& a, const Var& b);

/// x (N,H,W,C) * w (K,R,S,C/groups) [+ bias (K)] -> (N,P,Q,K), P = (H + pads - R) / stride + 1. One
/// floating dtype for all; halves accumulate in f32. A default-constructed `bias` means no bias. If
/// x has padding (`Var::padding`), C does not include it.
[[nodiscard]] Var conv2d(const Var& x, const Var& w, const Var& bias, const Conv2dOptions& options);

/// x (N,C) * w (K,C)^T [+ bias (K)] -> (N,K).
[[nodiscard]] Var linear(const Var& x, const Var& w, const Var& bias);

/// x (N,H,W,C) -> (N,P,Q,C). Ties go to the first element of the window; padding never wins.
[[nodiscard]] Var max_pool2d(const Var& x, const Pool2dOptions& options);
[[nodiscard]] Var avg_pool2d(const Var& x, const Pool2dOptions& options);
/// (N,H,W,C) -> (N,1,1,C).
[[nodiscard]] Var global_avg_pool(const Var& x);
[[nodiscard]] Var global_max_pool(const Var& x);

/// Batch normalization over (N,H,W) of x (N,H,W,C), or over N of x (N,C), then activation and
/// residual in one operation. `x` and `residual` share a floating dtype (f32, halves, or f64);
/// `weight`, `bias` (C) and the running statistics (C) are f32 (f64 for f64 x). In the mode eval
/// the running statistics are used, otherwise those of the batch, and the running ones are updated
/// immediately. If the tape has a RankGather, training uses the statistics of the samples of all
/// ranks, and each rank computes the gradients of the samples on its tape. A default-made
/// `residual` means none. Throws Error in training if there is one value per channel only.
[[nodiscard]] Var batch_norm(const Var& x,
                             const Var& weight,
                             const Var& bias,
                             Tensor running_mean,
                             Tensor running_var,
                             const Var& residual,
                             const BatchNormOptions& options,
                             ForwardMode mode);

/// Layer normalization of each row of x (...,C): (x - mean) / sqrt(variance + eps) * weight + bias,
/// with the biased variance. `weight` and `bias` (C) are f32 (f64 for f64 x), and so are the
/// statistics. Under autocast x is cast to f32. Throws ShapeError, also for C = 0; DTypeError.
[[nodiscard]] Var layer_norm(const Var& x, const Var& weight, const Var& bias, float eps = 1e-5F);

/// x / sqrt(mean(x^2) + eps) * weight for each row of x (...,C) (Zhang & Sennrich, "Root mean
/// square layer normalization", 2019), otherwise as `layer_norm`. PyTorch's eps, unless given, is
/// f32's epsilon.
[[nodiscard]] Var rms_norm(const Var& x, const Var& weight, float eps = 0x1p-23F);

/// w (K,...) = g v / ||v||, each of the K rows by itself (Salimans & Kingma 2016; PyTorch's
/// weight_norm with dim 0): `v` of a floating dtype, which w has too, `g` (K) or (K,1,...) f32 (f64
/// for f64 v). A row of zeros becomes NaN.
[[nodiscard]] Var weight_norm(const Var& v, const Var& g);

/// Elementwise activation of any shape and floating dtype. `identity` returns `x` itself.
[[nodiscard]] Var activation(const Var& x, const ActivationKind& kind);
[[nodiscard]] inline Var relu(const Var& x) { return activation(x, ActivationKind::relu()); }
[[nodiscard]] inline Var leaky_relu(const Var& x, float slope = 0.01F) {
  return activation(x, ActivationKind::leaky_relu(slope));
}
[[nodiscard]] inline Var relu6(const Var& x) { return activation(x, ActivationKind::relu6()); }
[[nodiscard]] inline Var gelu(const Var& x) { return activation(x, ActivationKind::gelu()); }
[[nodiscard]] inline Var silu(const Var& x) { return activation(x, ActivationKind::silu()); }
[[nodiscard]] inline Var hardsigmoid(const Var& x) {
  return activation(x, ActivationKind::hardsigmoid());
}
[[nodiscard]] inline Var hardswish(const Var& x) {
  return activation(x, ActivationKind::hardswish());
}
[[nodiscard]] inline Var gelu_tanh(const Var& x) {
  return activation(x, ActivationKind::gelu_tanh());
}
[[nodiscard]] inline Var mish(const Var& x) { return activation(x, ActivationKind::mish()); }

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

namespace learn {

// Where argument-dependent look-up finds them.
/// `ops::add`, where argument-dependent look-up finds it.
[[nodiscard]] inline Var operator+(const Var& a, const Var& b) { return ops::add(a, b); }
[[nodiscard]] Var operator-(const Var& x);
[[nodiscard]] Var operator-(const Var& a, const Var& b);
[[nodiscard]] Var operator*(const Var& a, const Var& b);
[[nodiscard]] Var operator/(const Var& a, const Var& b);
[[nodiscard]] Var operator+(const Var& a, double b);
[[nodiscard]] Var operator+(double a, const Var& b);
[[nodiscard]] Var operator-(const Var& a, double b);
[[nodiscard]] Var operator-(double a, const Var& b);
[[nodiscard]] Var operator*(const Var& a, double b);
[[nodiscard]] Var operator*(double a, const Var& b);
[[nodiscard]] Var operator/(const Var& a, double b);
[[nodiscard]] Var operator/(double a, const Var& b);

}  // namespace learn
