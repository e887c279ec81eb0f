#include "framework/kernels/activation/activation.h"

#include "framework/kernels/activation/activation_kernels.h"
#include "framework/kernels/activation/activation_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
void activation_forward(Context& ctx, const ActivationKind& kind, const Tensor& x, Tensor& y) {
  check_same(name_of(kind), x, y);
  check_device(ctx, name_of(kind), x);
  dispatch(ctx, name_of(kind), x.dtype(), [&]<class T>(const auto& exec) {
    activation_forward(exec, kind, x.data<T>(), y.data<T>(), x.elements());
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
  dispatch(ctx, name_of(kind), x.dtype(), [&]<class T>(const auto& exec) {
    activation_backward(exec, kind, x.data<T>(), dy.data<T>(), dx.data<T>(), mode, x.elements());
  });
}

}  // namespace learn::kernels
