#include "framework/kernels/common/check_operands.h"

#include "framework/runtime/dispatch.h"

namespace learn::kernels {

void check_operands(Context& ctx, const char* op, std::initializer_list<const Tensor*> tensors) {
  const DType dtype = (*tensors.begin())->dtype();
  for (const Tensor* t : tensors) {
    check_device(ctx, op, *t);
    check<DTypeError>(t->dtype() == dtype, "{}: dtypes differ: {} and {}", op, dtype, t->dtype());
  }
}

void check_shape(const char* op, const char* what, const Tensor& tensor, const Shape& wanted) {
  check(tensor.shape() == wanted,
        "{}: {} has shape {}, must have {}",
        op,
        what,
        tensor.shape(),
        wanted);
}

}  // namespace learn::kernels
