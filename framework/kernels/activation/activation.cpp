#include "framework/kernels/activation/activation.h"

#include "framework/kernels/activation/activation_cpu.h"
#include "framework/kernels/activation/activation_cuda.h"
#include "framework/kernels/activation/activation_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
void activation_forward(Context& ctx, const ActivationKind& kind, const Tensor& x, Tensor& y) {
  check_same(name_of(kind), x, y);
  check_device(ctx, name_of(kind), x);
  const Twin twin = choose(ctx, x.dtype());
  if (twin == Twin::cuda) {
    if constexpr (kHaveCuda)
      for_cuda_floating(name_of(kind), x.dtype(), [&]<class T>() {
        cuda::activation_forward(
            ctx.cuda().compute(), kind, x.data<T>(), y.data<T>(), x.elements());
      });
    return;
  }
  for_floating(name_of(kind), x.dtype(), [&]<class T>() {
    if constexpr (kHasFastTwin<T>)
      if (twin == Twin::fast)
        return cpu::activation_forward(ctx.threads(), kind, x.data<T>(), y.data<T>(), x.elements());
    cpu::reference::activation_forward(kind, x.data<T>(), y.data<T>(), x.elements());
  });
}

void activation_backward(Context& ctx,
                         const ActivationKind& kind,
                         const Tensor& x,
                         const Tensor& dy,
                         Tensor& dx,
                         GradMode mode) {
  check_same(name_of(kind), x, dy);
  check_same(name_of(kind), x, dx);
  check_device(ctx, name_of(kind), x);
  const Twin twin = choose(ctx, x.dtype());
  if (twin == Twin::cuda) {
    if constexpr (kHaveCuda)
      for_cuda_floating(name_of(kind), x.dtype(), [&]<class T>() {
        cuda::activation_backward(ctx.cuda().compute(),
                                  kind,
                                  x.data<T>(),
                                  dy.data<T>(),
                                  dx.data<T>(),
                                  mode,
                                  x.elements());
      });
    return;
  }
  for_floating(name_of(kind), x.dtype(), [&]<class T>() {
    if constexpr (kHasFastTwin<T>)
      if (twin == Twin::fast)
        return cpu::activation_backward(
            ctx.threads(), kind, x.data<T>(), dy.data<T>(), dx.data<T>(), mode, x.elements());
    cpu::reference::activation_backward(
        kind, x.data<T>(), dy.data<T>(), dx.data<T>(), mode, x.elements());
  });
}

}  // namespace learn::kernels
