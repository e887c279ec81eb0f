#pragma once
#include "framework/kernels/conv/cpu/conv_direct.h"

/// Convolutions by Winograd's algorithm in f32: of a 3x3 window it needs a quarter of the
/// multiplications, of one that moves by two pixels 56 %, and of a 5x5 window 36 %. The rounding
/// errors are larger than with the plain sum (see tests/autograd/winograd_test.cpp).
namespace learn::cpu {

/// Returns how to compute a convolution whose groups have at least 16 channels on both sides, or
/// null if its window and stride are not provided for.
[[nodiscard]] const simd::Winograd* winograd_variant(const simd::Kernels& kernels,
                                                     const ConvGeometry& g);

[[nodiscard]] inline std::int64_t group_weights(const ConvGeometry& g) {
  return g.weight_elements() / g.options.groups;
}

/// The passes, with operands as in conv_direct.h.
decltype(direct_forward) winograd_forward;
decltype(direct_backward_data) winograd_backward_data;
decltype(direct_backward_weight) winograd_backward_weight;
inline constexpr ConvPath kWinogradPath{
    winograd_forward, winograd_backward_data, winograd_backward_weight};

}  // namespace learn::cpu
