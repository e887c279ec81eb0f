#include "framework/backend/ema.h"

#include "framework/backend/cpu/ema.h"
#include "framework/backend/cpu/reference/ema.h"
#include "framework/backend/cuda/ema.h"
#include "framework/backend/dispatch.h"

#include <cstring>
#include <utility>

namespace learn::backend {

void ema_update(Context& ctx,
                const Tensor& weight,
                const EmaOptions& options,
                const Tensor& control,
                Tensor& average) {
  constexpr const char* kOp = "ema_update";
  check_same(kOp, weight, average);
  check<DTypeError>(
      weight.dtype() == DType::f32, "{}: weights are f32, got {}", kOp, weight.dtype());
  check(control.bytes() == sizeof(StepControl),
        "{}: a control block has {} bytes, expected {}",
        kOp,
        control.bytes(),
        sizeof(StepControl));
  for (const Tensor* tensor : {&weight, &std::as_const(average), &control})
    check_device(ctx, kOp, *tensor);
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda)
      cuda::ema_update(ctx.cuda().compute(),
                       weight.data<float>(),
                       options,
                       reinterpret_cast<const StepControl*>(control.raw()),
                       average.data<float>(),
                       weight.elements());
    return;
  }
  StepControl now;
  std::memcpy(&now, control.raw(), sizeof(now));
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

}  // namespace learn::backend
