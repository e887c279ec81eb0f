#include "framework/runtime/dispatch.h"

namespace learn::kernels {

void check_f64_device(const Context& ctx, std::string_view op, DType dtype) {
  check<DTypeError>(!(ctx.device().is_cuda() && dtype == DType::f64),
                    "{}: f64 is supported only on the CPU; use f32 on a CUDA device",
                    op);
}

void check_device(const Context& ctx, std::string_view op, const Tensor& tensor) {
  check<DeviceError>(tensor.device() == ctx.device(),
                     "{}: a tensor is on {}, the context on {}",
                     op,
                     tensor.device(),
                     ctx.device());
}

void check_same(std::string_view op, const Tensor& a, const Tensor& b) {
  check(a.shape() == b.shape(), "{}: shapes differ: {} and {}", op, a.shape(), b.shape());
  check<DTypeError>(
      a.dtype() == b.dtype(), "{}: dtypes differ: {} and {}", op, a.dtype(), b.dtype());
}

}  // namespace learn::kernels
