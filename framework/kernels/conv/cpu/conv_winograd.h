#pragma once
#include "framework/kernels/conv/cpu/conv_direct.h"

/// 3x3 convolutions of stride 1 by Winograd's F(4x4,3x3) in f32, with a quarter of the
/// multiplications. The rounding errors are ten to forty times larger than with the plain sum (see
/// tests/autograd/winograd_test.cpp).
namespace learn::cpu {

/// Returns whether the convolution is 3x3 with stride 1, one group and channels in multiples of 16.
[[nodiscard]] bool winograd_applies(const ConvGeometry& g);

/// The passes, with operands as in conv_direct.h.
decltype(direct_forward) winograd_forward;
decltype(direct_backward_data) winograd_backward_data;
decltype(direct_backward_weight) winograd_backward_weight;
inline constexpr ConvPath kWinogradPath{
    winograd_forward, winograd_backward_data, winograd_backward_weight};

}  // namespace learn::cpu
