#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/pool/pool_options.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Returns the shape (N,P,Q,C) of a pooled x (N,H,W,C), with P = (H + 2 pad_h - window_h) /
/// stride_h + 1, rounded down. Throws ShapeError unless x has four dimensions, window and stride
/// are positive, no padding is more than half of its window (so that each window contains an
/// element), and the window fits.
[[nodiscard]] Shape pooled_shape(const Shape& x, const Pool2dOptions& options);
/// Returns the window that covers all of x (N,H,W,C). Throws ShapeError.
[[nodiscard]] Pool2dOptions global_window(const Shape& x);

/// Returns the type of `winner` below: a byte, or i32 for windows of more than 256 elements.
[[nodiscard]] DType winner_dtype(const Pool2dOptions& options);

/// Computes the largest element of each window, or NaN if the window contains one. `winner`
/// (N,P,Q,C) is its position in the window, row * window_w + column, or the first position of equal
/// elements. Padding never wins. Floating dtypes. Throws ShapeError, DTypeError, DeviceError.
void max_pool2d_forward(
    Context& ctx, const Pool2dOptions& options, const Tensor& x, Tensor& y, Tensor& winner);
/// Computes dx (+)= dy at the winners, 0 elsewhere.
void max_pool2d_backward(Context& ctx,
                         const Pool2dOptions& options,
                         const Tensor& winner,
                         const Tensor& dy,
                         Tensor& dx,
                         GradMode mode);

/// Computes the sum of each window's elements divided by their number. `options.count_padding`
/// selects whether padding counts.
void avg_pool2d_forward(Context& ctx, const Pool2dOptions& options, const Tensor& x, Tensor& y);
void avg_pool2d_backward(
    Context& ctx, const Pool2dOptions& options, const Tensor& dy, Tensor& dx, GradMode mode);

}  // namespace learn::kernels
