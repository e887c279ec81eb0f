#pragma once
#include "framework/kernels/reduce/reduction.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// y = factor * the sum of x over each dimension in which y has extent 1, or the largest or least
/// element there (times the factor, which must be 1). y has x's rank and its extents in all other
/// dimensions; sums are f32 and rounded once to y's dtype, which is floating as x's is. A NaN is
/// larger, and less, than any number. The bits depend on neither threads nor devices' load. Throws
/// ShapeError, DTypeError, DeviceError, and ShapeError for a largest or least of no elements.
void reduce_axes(Context& ctx, Reduction reduction, const Tensor& x, double factor, Tensor& y);

}  // namespace learn::kernels
