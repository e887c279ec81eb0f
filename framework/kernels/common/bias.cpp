#include "framework/kernels/common/bias.h"

#include "framework/kernels/common/bias_reference.h"
#include "framework/kernels/common/check_operands.h"
#include "framework/kernels/common/cpu/bias.h"
#include "framework/kernels/common/cuda/bias.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {

void bias_backward(Context& ctx, const Tensor& dy, Tensor& db, GradMode mode) {
  check(dy.shape().rank() >= 1 && db.shape() == Shape{dy.shape()[-1]},
        "bias: gradient has shape {}, bias has {}",
        dy.shape(),
        db.shape());
  check_operands(ctx, "bias", {&dy, &db});
  const std::int64_t k = db.elements();
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < dy.shape().rank(); ++i) rows *= dy.shape()[i];
  dispatch(ctx, "bias", dy.dtype(), [&]<class T>(const auto& exec) {
    bias_backward(exec, dy.data<T>(), rows, k, db.data<T>(), mode);
  });
}

}  // namespace learn::kernels
