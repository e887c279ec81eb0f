#include "framework/kernels/loss/softmax_cross_entropy.h"

#include "framework/kernels/loss/loss_kernels.h"
#include "framework/kernels/loss/loss_reference.h"
#include "framework/runtime/dispatch.h"
#include "framework/tensor/convert.h"

namespace learn::kernels {
namespace {

constexpr std::string_view kOp = "softmax_cross_entropy";

void check_logits(const Context& ctx, std::string_view op, const Tensor& logits) {
  check(logits.shape().rank() == 2 && logits.shape()[1] > 0,
        "{}: logits must be (N,classes) with at least one class, not {}",
        op,
        logits.shape());
  check_device(ctx, op, logits);
}

void check_labels(const Tensor& logits, const Tensor& target) {
  check(target.shape() == Shape{logits.shape()[0]},
        "{}: classes have shape {}, logits {}",
        kOp,
        target.shape(),
        logits.shape());
  if (target.device().is_cuda()) return;  // the kernel checks: the host must not wait here
  const std::int64_t classes = logits.shape()[1];
  const std::span<const std::int64_t> labels = target.span<std::int64_t>();
  for (std::size_t n = 0; n < labels.size(); ++n)
    if (labels[n] < 0 || labels[n] >= classes)
      fail<DataError>("{}: sample {} has class {}, the logits have {} classes: 0 to {}",
                      kOp,
                      n,
                      labels[n],
                      classes,
                      classes - 1);
}

void check_target(const Context& ctx, const Tensor& logits, const Tensor& target) {
  check_device(ctx, kOp, target);
  if (target.dtype() == DType::i64) return check_labels(logits, target);
  check(target.shape() == logits.shape(),
        "{}: soft targets have shape {}, logits {}",
        kOp,
        target.shape(),
        logits.shape());
  check<DTypeError>(target.dtype() == wide_dtype(logits.dtype()),
                    "{}: targets must be i64 classes or {} weights for {} logits, they are {}",
                    kOp,
                    wide_dtype(logits.dtype()),
                    logits.dtype(),
                    target.dtype());
}

void check_wide(std::string_view op,
                std::string_view what,
                const Tensor& logits,
                const Shape& shape,
                const Tensor& out) {
  check(out.shape() == shape, "{}: {} has shape {}, not {}", op, what, out.shape(), shape);
  check<DTypeError>(out.dtype() == wide_dtype(logits.dtype()),
                    "{}: {} must be {} for {} logits, it is {}",
                    op,
                    what,
                    wide_dtype(logits.dtype()),
                    logits.dtype(),
                    out.dtype());
}

}  // namespace

void softmax_cross_entropy(Context& ctx,
                           const Tensor& logits,
                           const Tensor& target,
                           float label_smoothing,
                           Tensor& loss,
                           Tensor& gradient) {
  check_logits(ctx, kOp, logits);
  check(logits.shape()[0] > 0,
        "{}: the mean of no samples is undefined: logits are {}",
        kOp,
        logits.shape());
  if (!(label_smoothing >= 0 && label_smoothing <= 1))
    fail<UsageError>("label smoothing must be in [0,1], not {}", label_smoothing);
  check_target(ctx, logits, target);
  check_wide(kOp, "the loss", logits, {}, loss);
  if (gradient.defined()) check_wide(kOp, "the gradient", logits, logits.shape(), gradient);
  const bool labelled = target.dtype() == DType::i64;
  dispatch(ctx, kOp, logits.dtype(), [&]<class T>(const auto& exec) {
    using Wide = WideType<T>;
    const CrossEntropyTarget<Wide> wanted{
        .samples = logits.shape()[0],
        .classes = logits.shape()[1],
        .labels = labelled ? target.data<std::int64_t>() : nullptr,
        .weights = labelled ? nullptr : target.data<Wide>(),
        .smoothing = label_smoothing};
    softmax_cross_entropy(
        exec, logits.data<T>(), wanted, loss.data<Wide>(), data_or_null<Wide>(gradient));
  });
}

void softmax_cross_entropy_backward(
    Context& ctx, const Tensor& gradient, const Tensor& dloss, Tensor& dx, GradMode mode) {
  check_wide(kOp, "dloss", dx, {}, dloss);
  check_wide(kOp, "the saved gradient", dx, dx.shape(), gradient);
  check_device(ctx, kOp, dx);
  dispatch(ctx, kOp, dx.dtype(), [&]<class T>(const auto& exec) {
    softmax_cross_entropy_backward(exec,
                                   gradient.data<WideType<T>>(),
                                   dx.elements(),
                                   dloss.data<WideType<T>>(),
                                   dx.data<T>(),
                                   mode);
  });
}

void log_softmax(Context& ctx, const Tensor& logits, Tensor& logarithms) {
  check_logits(ctx, "log_softmax", logits);
  check_wide("log_softmax", "the output", logits, logits.shape(), logarithms);
  dispatch(ctx, "log_softmax", logits.dtype(), [&]<class T>(const auto& exec) {
    log_softmax(exec,
                logits.data<T>(),
                logits.shape()[0],
                logits.shape()[1],
                logarithms.data<WideType<T>>());
  });
}

void softmax_backward(
    Context& ctx, SoftmaxForm form, const Tensor& y, const Tensor& dy, Tensor& dx, GradMode mode) {
  const char* const op = form == SoftmaxForm::logarithms ? "log_softmax" : "softmax";
  check_logits(ctx, op, y);
  check_same(op, y, dy);
  check_same(op, y, dx);
  dispatch(ctx, op, y.dtype(), [&]<class T>(const auto& exec) {
    softmax_backward(
        exec, form, y.data<T>(), dy.data<T>(), y.shape()[0], y.shape()[1], dx.data<T>(), mode);
  });
}

void softmax(Context& ctx, const Tensor& logits, Tensor& probabilities) {
  check_logits(ctx, "softmax", logits);
  check_wide("softmax", "the output", logits, logits.shape(), probabilities);
  dispatch(ctx, "softmax", logits.dtype(), [&]<class T>(const auto& exec) {
    softmax(exec,
            logits.data<T>(),
            logits.shape()[0],
            logits.shape()[1],
            probabilities.data<WideType<T>>());
  });
}

}  // namespace learn::kernels
