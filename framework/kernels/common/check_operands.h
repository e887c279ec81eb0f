#pragma once
#include "framework/runtime/context.h"

#include <initializer_list>

namespace learn::kernels {

/// Throws DeviceError unless all `tensors` are on the context's device, DTypeError unless they have
/// the dtype of the first. Messages start with `op`.
void check_operands(Context& ctx, const char* op, std::initializer_list<const Tensor*> tensors);

/// Throws ShapeError that names `what` unless the tensor has the shape `wanted`.
void check_shape(const char* op, const char* what, const Tensor& tensor, const Shape& wanted);

}  // namespace learn::kernels
