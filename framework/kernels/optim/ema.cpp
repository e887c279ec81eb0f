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
  check_same(kOp, weight, average);
  check<DTypeError>(
      weight.dtype() == DType::f32, "{}: weights are f32, got {}", kOp, weight.dtype());
  check_device(ctx, kOp, weight);
  check_device(ctx, kOp, average);
  check_device(ctx, kOp, control);
  with_executor(ctx, [&](const auto& exec) {
    ema_update(exec,
               weight.data<float>(),
               options,
               control.data(),
               average.data<float>(),
               weight.elements());
  });
}

}  // namespace learn::kernels
