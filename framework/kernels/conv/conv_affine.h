#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/kernels/conv/conv.h"

namespace learn::kernels {

/// An operation applied to each output v of channel k of a convolution: act(v * scale[k] + shift[k]
/// [+ residual]) [+ residual].
struct ConvAffine {
  Tensor scale, shift;  ///< (K), f32
  Tensor residual;      ///< the shape of the output, or undefined for no residual
  ActivationKind activation = ActivationKind::identity();
  bool residual_before_activation = false;
};

/// Returns whether `conv2d_affine` supports it: on the CPU's fast path, in f32, with a piecewise
/// linear activation.
[[nodiscard]] bool can_fuse_affine(const Context& ctx,
                                   DType dtype,
                                   const ActivationKind& activation);

/// Computes `conv2d_forward` and applies `then` while each output is in the cache. The result is
/// identical, bit for bit, to the two separate operations. Throws the exceptions of
/// `conv2d_forward`, and UsageError if it is not supported.
void conv2d_affine(Context& ctx,
                   const Tensor& x,
                   const Tensor& w,
                   const Tensor& bias,
                   const Conv2dOptions& options,
                   const ConvAffine& then,
                   Tensor& y);

}  // namespace learn::kernels
