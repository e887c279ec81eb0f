#pragma once
#include "framework/kernels/reduce/reduction.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Computes y = factor * the sum of x over each dimension in which y has extent 1, or the maximum
/// or minimum there (times the factor, which must be 1). y has x's rank and its extents in all
/// other dimensions. Sums are in f32 and rounded once to y's dtype; x and y have floating dtypes.
/// In a maximum NaN is larger than any number, and in a minimum it is smaller. The result depends
/// neither on threads nor on the load of the device, bit for bit. Throws ShapeError, DTypeError,
/// DeviceError, and ShapeError for a maximum or minimum without elements.
void reduce_axes(Context& ctx, Reduction reduction, const Tensor& x, double factor, Tensor& y);

}  // namespace learn::kernels
