#include "framework/backend/mse.h"

#include "framework/backend/cpu/loss.h"
#include "framework/backend/cpu/reference/loss.h"
#include "framework/backend/dispatch.h"
#include "framework/tensor/convert.h"

namespace learn::backend {
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

/// Calls `f.operator()<T, U>(twin)` with the types of prediction and target.
template <class F>
void for_pair(const Context& ctx, const Tensor& pred, const Tensor& target, F&& f) {
  const Twin twin = choose(ctx, pred.dtype());
  if (twin == Twin::cuda) no_cuda_twin("mse");
  for_floating("mse", pred.dtype(), [&]<class T>() {
    // NOLINTNEXTLINE(bugprone-branch-clone): the types differ
    if (target.dtype() == pred.dtype())
      f.template operator()<T, T>(twin);
    else
      f.template operator()<T, WideType<T>>(twin);
  });
}

}  // namespace

void mse_forward(Context& ctx, const Tensor& pred, const Tensor& target, Tensor& loss) {
  check_pair(ctx, pred, target);
  check_scalar("mse", loss, wide_dtype(pred.dtype()));
  for_pair(ctx, pred, target, [&]<class T, class U>(Twin twin) {
    const std::int64_t n = pred.elements();
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
  });
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
  for_pair(ctx, pred, target, [&]<class T, class U>(Twin twin) {
    const std::int64_t n = pred.elements();
    const auto* seed = dloss.data<WideType<T>>();
    if constexpr (!std::same_as<T, double>) {
      if (twin == Twin::fast)
        return cpu::mse_backward(
            ctx.threads(), pred.data<T>(), target.data<U>(), n, seed, dpred.data<T>(), mode);
    }
    cpu::reference::mse_backward(pred.data<T>(), target.data<U>(), n, seed, dpred.data<T>(), mode);
  });
}

}  // namespace learn::backend
