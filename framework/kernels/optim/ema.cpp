#include "framework/kernels/optim/ema.h"

#include "framework/kernels/optim/ema_cpu.h"
#include "framework/kernels/optim/ema_cuda.h"
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
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda)
      cuda::ema_update(ctx.cuda().compute(),
                       weight.data<float>(),
                       options,
                       control.data(),
                       average.data<float>(),
                       weight.elements());
    return;
  }
  const StepControl& now = *control.data();
  if (now.found_inf != 0) return;
  const std::int64_t update = now.step - options.first_step;
  if (ctx.reference())
    cpu::reference::ema_update(
        weight.data<float>(), options, update, average.data<float>(), weight.elements());
  else
    cpu::ema_update(ctx.threads(),
                    weight.data<float>(),
                    options,
                    update,
                    average.data<float>(),
                    weight.elements());
}

}  // namespace learn::kernels
