#include "framework/kernels/loss/mse.h"

#include "framework/kernels/loss/loss_cpu.h"
#include "framework/kernels/loss/loss_cuda.h"
#include "framework/kernels/loss/loss_reference.h"
#include "framework/runtime/dispatch.h"
#include "framework/tensor/convert.h"

namespace learn::kernels {
namespace {

void check_pair(const Context& ctx, const Tensor& pred, const Tensor& target) {
  check(pred.shape() == target.shape(),
        "mse: the prediction has shape {}, the target {}",
        pred.shape(),
        target.shape());
  check(pred.elements() > 0, "mse: the mean over no elements: shape {}", pred.shape());
  check<DTypeError>(target.dtype() == pred.dtype() || target.dtype() == wide_dtype(pred.dtype()),
                    "mse: the target must be {} or {}, it is {}",
                    pred.dtype(),
                    wide_dtype(pred.dtype()),
                    target.dtype());
  check_device(ctx, "mse", pred);
  check_device(ctx, "mse", target);
}

void check_scalar(std::string_view op, const Tensor& scalar, DType dtype) {
  check(scalar.elements() == 1, "{}: the loss has shape {}, not one element", op, scalar.shape());
  check<DTypeError>(
      scalar.dtype() == dtype, "{}: the loss must be {}, it is {}", op, dtype, scalar.dtype());
}

/// Calls `host.operator()<T, U>(twin)` or `on_device.operator()<T, U>(stream)` with the types of
/// prediction and target.
template <class Host, class Cuda>
void for_pair(
    Context& ctx, const Tensor& pred, const Tensor& target, Host&& host, Cuda&& on_device) {
  const Twin twin = choose(ctx, pred.dtype());
  const bool wide = target.dtype() != pred.dtype();
  if (twin == Twin::cuda) {
    if constexpr (kHaveCuda)
      for_cuda_floating("mse", pred.dtype(), [&]<class T>() {
        // NOLINTNEXTLINE(bugprone-branch-clone): the types differ
        if (wide)
          on_device.template operator()<T, float>(ctx.cuda().compute());
        else
          on_device.template operator()<T, T>(ctx.cuda().compute());
      });
    return;
  }
  for_floating("mse", pred.dtype(), [&]<class T>() {
    // NOLINTNEXTLINE(bugprone-branch-clone): the types differ
    if (wide)
      host.template operator()<T, WideType<T>>(twin);
    else
      host.template operator()<T, T>(twin);
  });
}

}  // namespace

void mse_forward(Context& ctx, const Tensor& pred, const Tensor& target, Tensor& loss) {
  check_pair(ctx, pred, target);
  check_scalar("mse", loss, wide_dtype(pred.dtype()));
  const std::int64_t n = pred.elements();
  const auto host = [&]<class T, class U>(Twin twin) {
    if constexpr (!std::same_as<T, double>) {
      if (twin == Twin::fast) {
        Tensor partial = ctx.empty({cpu::mse_partials(n)}, DType::f32);
        return cpu::mse_forward(ctx.threads(),
                                pred.data<T>(),
                                target.data<U>(),
                                n,
                                partial.data<float>(),
                                loss.data<float>());
      }
    }
    cpu::reference::mse_forward(pred.data<T>(), target.data<U>(), n, loss.data<WideType<T>>());
  };
  const auto on_device = [&]<class T, class U>(cuda::Stream stream) {
    Tensor workspace = ctx.empty({cuda::mse_workspace(n)}, DType::f32);
    cuda::mse_forward(
        stream, pred.data<T>(), target.data<U>(), n, workspace.data<float>(), loss.data<float>());
  };
  for_pair(ctx, pred, target, host, on_device);
}

void mse_backward(Context& ctx,
                  const Tensor& pred,
                  const Tensor& target,
                  const Tensor& dloss,
                  Tensor& dpred,
                  GradMode mode) {
  check_pair(ctx, pred, target);
  check_scalar("mse", dloss, wide_dtype(pred.dtype()));
  check(dpred.shape() == pred.shape(),
        "mse: dpred has shape {}, pred {}",
        dpred.shape(),
        pred.shape());
  const std::int64_t n = pred.elements();
  const auto host = [&]<class T, class U>(Twin twin) {
    const auto* seed = dloss.data<WideType<T>>();
    if constexpr (!std::same_as<T, double>) {
      if (twin == Twin::fast)
        return cpu::mse_backward(
            ctx.threads(), pred.data<T>(), target.data<U>(), n, seed, dpred.data<T>(), mode);
    }
    cpu::reference::mse_backward(pred.data<T>(), target.data<U>(), n, seed, dpred.data<T>(), mode);
  };
  const auto on_device = [&]<class T, class U>(cuda::Stream stream) {
    cuda::mse_backward(
        stream, pred.data<T>(), target.data<U>(), n, dloss.data<float>(), dpred.data<T>(), mode);
  };
  for_pair(ctx, pred, target, host, on_device);
}

}  // namespace learn::kernels
