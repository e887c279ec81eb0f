#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>

/// The CUDA twins of cast and fill: f32, f16, bf16. Device pointers; enqueue only.
namespace learn::cuda {

/// y (+)= x. Always adds where From is To: the rest is a copy.
template <class From, class To>
void cast(Stream stream, const From* x, To* y, GradMode mode, std::int64_t n);
/// Every element becomes `value`, whose bits are those of one element of 1, 2, 4 or 8 bytes.
template <class Bits>
void fill(Stream stream, Bits* x, Bits value, std::int64_t n);

}  // namespace learn::cuda
