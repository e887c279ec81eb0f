#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/pool/pool_options.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// (N,P,Q,C) of a pooled x (N,H,W,C), P = (H + 2 pad_h - window_h) / stride_h + 1, rounded down.
/// Throws ShapeError unless x has four dimensions, window and stride are positive, no padding is
/// more than half of its window (so that each window holds an element), and the window fits.
[[nodiscard]] Shape pooled_shape(const Shape& x, const Pool2dOptions& options);
/// The window that covers all of x (N,H,W,C). Throws ShapeError.
[[nodiscard]] Pool2dOptions global_window(const Shape& x);

/// The type of `winner` below: a byte, or i32 for windows of more than 256 elements.
[[nodiscard]] DType winner_dtype(const Pool2dOptions& options);

/// The largest element of each window; NaN if there is one. `winner` (N,P,Q,C) says where in the
/// window it was, row * window_w + column, the first of equal ones. Padding never wins. Floating
/// dtypes. Throws ShapeError, DTypeError, DeviceError.
void max_pool2d_forward(
    Context& ctx, const Pool2dOptions& options, const Tensor& x, Tensor& y, Tensor& winner);
/// dx (+)= dy at the winners, 0 elsewhere.
void max_pool2d_backward(Context& ctx,
                         const Pool2dOptions& options,
                         const Tensor& winner,
                         const Tensor& dy,
                         Tensor& dx,
                         GradMode mode);

/// The sum of each window's elements over the number of its elements, padding counted as
/// `options.count_padding` says.
void avg_pool2d_forward(Context& ctx, const Pool2dOptions& options, const Tensor& x, Tensor& y);
void avg_pool2d_backward(
    Context& ctx, const Pool2dOptions& options, const Tensor& dy, Tensor& dx, GradMode mode);

}  // namespace learn::kernels
