#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/conv/conv_geometry.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// The sizes of x (N,H,W,C + padding) * w (K,R,S,C/groups): the last `padding` channels of x,
/// zeros, take no part. Throws ShapeError, with both values, where they do not fit, for options
/// that make no sense, and for a window larger than the padded image.
[[nodiscard]] ConvGeometry conv2d_geometry(const Shape& x,
                                           const Shape& w,
                                           const Conv2dOptions& options,
                                           std::int64_t padding = 0);

/// y (N,P,Q,K) = x (N,H,W,C) * w (K,R,S,C/groups) [+ bias (K)], without flipping the window, as
/// PyTorch. An undefined `bias` means none. All of one floating dtype; halves are multiplied and
/// summed in f32. x may have `padding` more channels, which are zeros; on CUDA halves with 8 of
/// them together are taken as they are. Throws ShapeError, DTypeError, DeviceError; so do the
/// others.
void conv2d_forward(Context& ctx,
                    const Tensor& x,
                    const Tensor& w,
                    const Tensor& bias,
                    Tensor& y,
                    const Conv2dOptions& options,
                    std::int64_t padding = 0);

/// Throws DTypeError, DeviceError and ShapeError as `conv2d_forward` does for these operands, whose
/// geometry is right.
void check_conv2d(Context& ctx, const Tensor& x, const Tensor& w, const Tensor& bias);

/// dx (N,H,W,C) (+)= the gradient of x for dy (N,P,Q,K).
void conv2d_backward_data(Context& ctx,
                          const Tensor& dy,
                          const Tensor& w,
                          Tensor& dx,
                          const Conv2dOptions& options,
                          GradMode mode);

/// dw (K,R,S,C/groups) (+)= the gradient of w for dy (N,P,Q,K).
void conv2d_backward_weight(Context& ctx,
                            const Tensor& x,
                            const Tensor& dy,
                            Tensor& dw,
                            const Conv2dOptions& options,
                            GradMode mode,
                            std::int64_t padding = 0);

}  // namespace learn::kernels
