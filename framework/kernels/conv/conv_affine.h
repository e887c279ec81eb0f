#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/kernels/conv/conv.h"

namespace learn::kernels {

/// Transformation of each output v of channel k of a convolution: act(v * scale[k] + shift[k] [+
/// residual]) [+ residual].
struct ConvAffine {
  Tensor scale, shift;  ///< (K), f32
  Tensor residual;      ///< the shape of the output; undefined: none
  ActivationKind activation = ActivationKind::identity();
  bool residual_before_activation = false;
};

/// Whether `conv2d_affine` can do it: on the CPU's fast path, in f32, with a piecewise linear
/// activation.
[[nodiscard]] bool can_fuse_affine(const Context& ctx,
                                   DType dtype,
                                   const ActivationKind& activation);

/// `conv2d_forward`, and then `then`, while each output is in the cache: the same bits as from the
/// operations one after the other. Throws as `conv2d_forward`, and UsageError where it cannot be
/// done.
void conv2d_affine(Context& ctx,
                   const Tensor& x,
                   const Tensor& w,
                   const Tensor& bias,
                   const Conv2dOptions& options,
                   const ConvAffine& then,
                   Tensor& y);

}  // namespace learn::kernels
