#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/conv/conv_geometry.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Returns the sizes of x (N,H,W,C + padding) * w (K,R,S,C/groups). The last `padding` channels of
/// x are zeros and take no part. Throws a ShapeError with both values for sizes that do not match,
/// for invalid options, and for a window larger than the padded image.
[[nodiscard]] ConvGeometry conv2d_geometry(const Shape& x,
                                           const Shape& w,
                                           const Conv2dOptions& options,
                                           std::int64_t padding = 0);

/// Computes y (N,P,Q,K) = x (N,H,W,C) * w (K,R,S,C/groups) [+ bias (K)] without flipping the
/// window, as PyTorch does. An undefined `bias` is omitted. All tensors have the same floating
/// dtype; halves are multiplied and summed in f32. x may have `padding` more channels, which are
/// zeros. On CUDA, halves whose channels are padded to the next multiple of 8 are used without a
/// copy. This function and the following ones throw ShapeError, DTypeError, DeviceError.
void conv2d_forward(Context& ctx,
                    const Tensor& x,
                    const Tensor& w,
                    const Tensor& bias,
                    Tensor& y,
                    const Conv2dOptions& options,
                    std::int64_t padding = 0);

/// Throws DTypeError, DeviceError and ShapeError as `conv2d_forward` does for operands whose
/// geometry is valid.
void check_conv2d(Context& ctx, const Tensor& x, const Tensor& w, const Tensor& bias);

/// Computes dx (N,H,W,C) (+)= the gradient of x for dy (N,P,Q,K).
void conv2d_backward_data(Context& ctx,
                          const Tensor& dy,
                          const Tensor& w,
                          Tensor& dx,
                          const Conv2dOptions& options,
                          GradMode mode);

/// Computes dw (K,R,S,C/groups) (+)= the gradient of w for dy (N,P,Q,K).
void conv2d_backward_weight(Context& ctx,
                            const Tensor& x,
                            const Tensor& dy,
                            Tensor& dw,
                            const Conv2dOptions& options,
                            GradMode mode,
                            std::int64_t padding = 0);

}  // namespace learn::kernels
