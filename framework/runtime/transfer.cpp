#include "framework/runtime/transfer.h"

#include "framework/core/device.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/dispatch.h"
#include "framework/tensor/host_tensor.h"

#include <cstring>

namespace learn {
namespace {

constexpr std::int64_t kGrain = 131072;  // bytes

}  // namespace

void copy(Context& ctx, const Tensor& x, Tensor& y) {
  check(x.shape() == y.shape(), "copy: shapes differ: {} and {}", x.shape(), y.shape());
  check<DTypeError>(x.dtype() == y.dtype(), "copy: dtypes differ: {} and {}", x.dtype(), y.dtype());
  kernels::check_device(ctx, "copy", x);
  if (x.same_memory(y)) return;
  if (ctx.device().is_cuda()) {
    if constexpr (kHaveCuda) ctx.cuda().copy_on_device(y.raw(), x.raw(), x.bytes());
    return;
  }
  const auto bytes = static_cast<std::int64_t>(x.bytes());
  ctx.threads().parallel_for(bytes, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(y.raw() + begin, x.raw() + begin, static_cast<std::size_t>(end - begin));
  });
}

Tensor to_device(Context& ctx, Arena& arena, const Tensor& host) {
  check<DeviceError>(
      host.device().is_cpu(), "to_device: the source is on {} already", host.device());
  Tensor out(arena, host.shape(), host.dtype());
  if (ctx.device().is_cpu()) {
    copy(ctx, host, out);
  } else if constexpr (kHaveCuda) {
    ctx.cuda().upload(out.raw(), host.raw(), host.bytes());
    ctx.cuda().synchronize();
  }
  return out;
}

Tensor to_host(Context& ctx, const Tensor& device) {
  Tensor out = host_tensor(device.shape(), device.dtype());
  if (ctx.device().is_cpu()) {
    copy(ctx, device, out);
  } else if constexpr (kHaveCuda) {
    ctx.cuda().download(out.raw(), device.raw(), device.bytes());
    ctx.cuda().synchronize();
  }
  return out;
}

}  // namespace learn
