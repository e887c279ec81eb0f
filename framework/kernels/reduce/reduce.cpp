#include "framework/kernels/reduce/reduce.h"

#include "framework/kernels/reduce/reduce_kernels.h"
#include "framework/kernels/reduce/reduce_reference.h"
#include "framework/runtime/dispatch.h"
#include "framework/tensor/convert.h"

namespace learn::kernels {
namespace {

/// Checks that y is one element of the sum's type: f32, or f64 for f64 elements.
void check_sum(std::string_view op, const Tensor& x, const Tensor& y) {
  const DType wanted = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  check(y.elements() == 1, "{}: the sum must have one element, not shape {}", op, y.shape());
  check<DTypeError>(y.dtype() == wanted,
                    "{}: the sum of {} must be {}, not {}",
                    op,
                    x.dtype(),
                    wanted,
                    y.dtype());
}

void check_rows(std::string_view op, const Tensor& x) {
  check(x.shape().rank() == 2 && x.shape()[1] > 0,
        "{}: needs rows (N,C) with C > 0, got {}",
        op,
        x.shape());
}

/// Returns true if the target contains classes, false if it contains weights.
bool check_hit_target(const Context& ctx, const Tensor& x, const Tensor& target) {
  check_device(ctx, "count_hits", target);
  const std::int64_t rows = x.shape()[0];
  const std::int64_t columns = x.shape()[1];
  if (target.dtype() != DType::i64) {
    check(target.shape() == x.shape(),
          "count_hits: weights have shape {}, scores {}",
          target.shape(),
          x.shape());
    check<DTypeError>(target.dtype() == wide_dtype(x.dtype()),
                      "count_hits: targets must be i64 classes or {} weights for {} scores, they "
                      "are {}",
                      wide_dtype(x.dtype()),
                      x.dtype(),
                      target.dtype());
    return false;
  }
  check(target.shape() == Shape{rows},
        "count_hits: {} rows need classes ({}), not {}",
        rows,
        rows,
        target.shape());
  if (target.device().is_cuda()) return true;  // the kernel checks: the host must not wait here
  const auto* classes = target.data<std::int64_t>();
  for (std::int64_t r = 0; r < rows; ++r)
    if (classes[r] < 0 || classes[r] >= columns)
      fail<DataError>(
          "count_hits: row {} has class {}, but there are {} classes", r, classes[r], columns);
  return true;
}

}  // namespace

void sum(Context& ctx, const Tensor& x, double factor, Tensor& y) {
  check_sum("sum", x, y);
  check_device(ctx, "sum", x);
  dispatch(ctx, "sum", x.dtype(), [&]<class T>(const auto& exec) {
    sum(exec, x.data<T>(), factor, y.data<WideType<T>>(), x.elements());
  });
}

void sum_backward(Context& ctx, const Tensor& dy, double factor, Tensor& dx, GradMode mode) {
  check_sum("sum_backward", dx, dy);
  check_device(ctx, "sum_backward", dx);
  dispatch(ctx, "sum_backward", dx.dtype(), [&]<class T>(const auto& exec) {
    sum_backward(exec, dy.data<WideType<T>>(), factor, dx.data<T>(), mode, dx.elements());
  });
}

void argmax(Context& ctx, const Tensor& x, Tensor& index) {
  check_rows("argmax", x);
  check_device(ctx, "argmax", x);
  const std::int64_t rows = x.shape()[0];
  check(index.shape() == Shape{rows},
        "argmax: the indices must have shape ({}), not {}",
        rows,
        index.shape());
  dispatch(ctx, "argmax", x.dtype(), [&]<class T>(const auto& exec) {
    argmax(exec, x.data<T>(), index.data<std::int64_t>(), rows, x.shape()[1]);
  });
}

void top_k(Context& ctx, const Tensor& x, Tensor& values, Tensor& index) {
  check_rows("top_k", x);
  check_device(ctx, "top_k", x);
  const std::int64_t rows = x.shape()[0];
  const std::int64_t columns = x.shape()[1];
  check(values.shape().rank() == 2 && values.shape()[0] == rows && values.shape() == index.shape(),
        "top_k: values {} and indices {} must both be ({},k)",
        values.shape(),
        index.shape(),
        rows);
  const std::int64_t k = values.shape()[1];
  check<UsageError>(k >= 1 && k <= columns, "top_k: k must be 1 to {1}, not {0}", k, columns);
  dispatch(ctx, "top_k", x.dtype(), [&]<class T>(const auto& exec) {
    top_k(exec, x.data<T>(), values.data<T>(), index.data<std::int64_t>(), rows, columns, k);
  });
}

void count_hits(Context& ctx,
                const Tensor& x,
                const Tensor& target,
                std::int64_t k,
                Counted counted,
                Tensor& count) {
  check_rows("count_hits", x);
  const bool labelled = check_hit_target(ctx, x, target);
  check(
      count.elements() == 1, "count_hits: the count must have one element, not {}", count.shape());
  check_device(ctx, "count_hits", count);
  check<UsageError>(k >= 1, "count_hits: k must be at least 1, not {}", k);
  check_device(ctx, "count_hits", x);
  dispatch(ctx, "count_hits", x.dtype(), [&]<class T>(const auto& exec) {
    using Wide = WideType<T>;
    const HitTarget<Wide> wanted{.classes = labelled ? target.data<std::int64_t>() : nullptr,
                                 .weights = labelled ? nullptr : target.data<Wide>(),
                                 .rows = x.shape()[0],
                                 .columns = x.shape()[1]};
    count_hits(
        exec, x.data<T>(), wanted, k, counted == Counted::misses, count.data<std::int64_t>());
  });
}

}  // namespace learn::kernels
