#include "framework/kernels/cast/cast.h"

#include "framework/kernels/cast/cast_cuda.h"
#include "framework/kernels/cast/cast_reference.h"
#include "framework/kernels/common/cpu/cast.h"
#include "framework/runtime/dispatch.h"
#include "framework/runtime/transfer.h"

namespace learn::kernels {
void cast(Context& ctx, const Tensor& x, Tensor& y, GradMode mode) {
  check(x.shape() == y.shape(), "cast: shapes differ: {} and {}", x.shape(), y.shape());
  check_device(ctx, "cast", x);
  check_device(ctx, "cast", y);
  if (x.dtype() == y.dtype() && mode == GradMode::overwrite) return copy(ctx, x, y);
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda)
      for_cuda_floating("cast", x.dtype(), [&]<class From>() {
        for_cuda_floating("cast", y.dtype(), [&]<class To>() {
          cuda::cast(ctx.cuda().compute(), x.data<From>(), y.data<To>(), mode, x.elements());
        });
      });
    return;
  }
  for_floating("cast", x.dtype(), [&]<class From>() {
    for_floating("cast", y.dtype(), [&]<class To>() {
      const From* from = x.data<From>();
      To* to = y.data<To>();
      if constexpr (kHasFastTwin<From> && kHasFastTwin<To>)
        if (!ctx.reference()) return cpu::cast(ctx.threads(), from, to, mode, x.elements());
      cpu::reference::cast(from, to, mode, x.elements());
    });
  });
}

}  // namespace learn::kernels
