#pragma once
#include "framework/autograd/var.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

#include <vector>

namespace learn::ops {

/// The dimensions that a reduction is over: negative ones count from the end, each once, in any
/// order.
using Axes = std::vector<int>;

/// Sum and mean over `axes` of a floating x, of its dtype: summed in f32 and rounded once.
/// `keepdim` leaves each axis with extent 1, so that the result is broadcast against x; else they
/// go. All throw UsageError for an axis that is not there or is named twice, or for none.
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

}  // namespace learn::ops
