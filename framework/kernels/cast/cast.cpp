#include "framework/kernels/cast/cast.h"

#include "framework/kernels/cast/cast_kernels.h"
#include "framework/kernels/cast/cast_reference.h"
#include "framework/runtime/dispatch.h"
#include "framework/runtime/transfer.h"

namespace learn::kernels {

void cast(Context& ctx, const Tensor& x, Tensor& y, GradMode mode) {
  check(x.shape() == y.shape(), "cast: shapes differ: {} and {}", x.shape(), y.shape());
  check_device(ctx, "cast", x);
  check_device(ctx, "cast", y);
  if (x.dtype() == y.dtype() && mode == GradMode::overwrite) return copy(ctx, x, y);
  dispatch(ctx, "cast", x.dtype(), y.dtype(), [&]<class From, class To>(const auto& exec) {
    cast(exec, x.data<From>(), y.data<To>(), mode, x.elements());
  });
}

}  // namespace learn::kernels
