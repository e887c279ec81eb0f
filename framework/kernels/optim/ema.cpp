#include "framework/kernels/optim/ema.h"

#include "framework/kernels/optim/ema_kernels.h"
#include "framework/kernels/optim/ema_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {

void ema_update(Context& ctx,
                const Tensor& weight,
                const EmaOptions& options,
                const DeviceArray<StepControl>& control,
                Tensor& average) {
  constexpr const char* kOp = "ema_update";
  check(weight.shape() == average.shape(),
        "{}: shapes differ: {} and {}",
        kOp,
        weight.shape(),
        average.shape());
  check<DTypeError>(
      (weight.dtype() == DType::f32 || is_half(weight.dtype())) && average.dtype() == DType::f32,
      "{}: weights must be f32, f16 or bf16 and their average f32, not {} and {}",
      kOp,
      weight.dtype(),
      average.dtype());
  check_device(ctx, kOp, weight);
  check_device(ctx, kOp, average);
  check_device(ctx, kOp, control);
  dispatch(ctx, kOp, weight.dtype(), [&]<class T>(const auto& exec) {
    if constexpr (!std::same_as<T, double>)
      ema_update(exec,
                 weight.data<T>(),
                 options,
                 control.data(),
                 average.data<float>(),
                 weight.elements());
  });
}

}  // namespace learn::kernels
