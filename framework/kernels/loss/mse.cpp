#include "framework/kernels/loss/mse.h"

#include "framework/kernels/loss/loss_kernels.h"
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
  check(pred.elements() > 0, "mse: the mean of no elements is undefined: shape {}", pred.shape());
  check<DTypeError>(target.dtype() == pred.dtype() || target.dtype() == wide_dtype(pred.dtype()),
                    "mse: the target must be {} or {}, not {}",
                    pred.dtype(),
                    wide_dtype(pred.dtype()),
                    target.dtype());
  check_device(ctx, "mse", pred);
  check_device(ctx, "mse", target);
}

void check_scalar(std::string_view op, const Tensor& scalar, DType dtype) {
  check(scalar.elements() == 1, "{}: the loss has shape {}, not one element", op, scalar.shape());
  check<DTypeError>(
      scalar.dtype() == dtype, "{}: the loss must be {}, not {}", op, dtype, scalar.dtype());
}

/// Calls `f.operator()<T, U>(executor)` with the types of prediction and target.
template <class F>
void for_pair(Context& ctx, const Tensor& pred, const Tensor& target, F&& f) {
  const bool wide = target.dtype() != pred.dtype();
  dispatch(ctx, "mse", pred.dtype(), [&]<class T>(const auto& exec) {
    // NOLINTNEXTLINE(bugprone-branch-clone): the types differ
    if (wide)
      f.template operator()<T, WideType<T>>(exec);
    else
      f.template operator()<T, T>(exec);
  });
}

}  // namespace

void mse_forward(Context& ctx, const Tensor& pred, const Tensor& target, Tensor& loss) {
  check_pair(ctx, pred, target);
  check_scalar("mse", loss, wide_dtype(pred.dtype()));
  for_pair(ctx, pred, target, [&]<class T, class U>(const auto& exec) {
    mse_forward(exec, pred.data<T>(), target.data<U>(), pred.elements(), loss.data<WideType<T>>());
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
  for_pair(ctx, pred, target, [&]<class T, class U>(const auto& exec) {
    mse_backward(exec,
                 pred.data<T>(),
                 target.data<U>(),
                 pred.elements(),
                 dloss.data<WideType<T>>(),
                 dpred.data<T>(),
                 mode);
  });
}

}  // namespace learn::kernels
