#include "framework/backend/fill.h"

#include "framework/backend/dispatch.h"
#include "framework/tensor/convert.h"

#include <algorithm>

namespace learn::backend {

void fill(Context& ctx, Tensor& x, double value) {
  check_device(ctx, "fill", x);
  if (ctx.device().is_cuda()) no_cuda_twin("fill");
  constexpr std::int64_t kGrain = 65536;
  visit_dtype(x.dtype(), [&]<class T>() {
    T* data = x.data<T>();
    const T element = from_double<T>(value);
    ctx.threads().parallel_for(x.elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::fill(data + begin, data + end, element);
    });
  });
}

}  // namespace learn::backend
