#pragma once
#include "framework/runtime/context.h"

#include <initializer_list>

namespace learn::kernels {

/// Throws DeviceError unless all `tensors` are on the context's device, and DTypeError unless they
/// have the dtype of the first. `op` is the prefix of the messages.
void check_operands(Context& ctx, const char* op, std::initializer_list<const Tensor*> tensors);

/// Throws a ShapeError that names `what` unless the tensor has the expected shape.
void check_shape(const char* op, const char* what, const Tensor& tensor, const Shape& wanted);

}  // namespace learn::kernels
