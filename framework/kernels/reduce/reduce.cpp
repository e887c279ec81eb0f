#include "framework/kernels/reduce/reduce.h"

#include "framework/kernels/reduce/reduce_cpu.h"
#include "framework/kernels/reduce/reduce_cuda.h"
#include "framework/kernels/reduce/reduce_reference.h"
#include "framework/runtime/dispatch.h"
#include "framework/tensor/convert.h"

namespace learn::kernels {
namespace {

namespace reference = cpu::reference;

Twin twin_of(const Context& ctx, std::string_view op, const Tensor& x) {
  check_device(ctx, op, x);
  return choose(ctx, x.dtype());
}

/// The type of a sum: f32, or f64 for f64 elements.
void check_sum(std::string_view op, const Tensor& x, const Tensor& y) {
  const DType wanted = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  check(y.elements() == 1, "{}: the sum has one element, not shape {}", op, y.shape());
  check<DTypeError>(
      y.dtype() == wanted, "{}: the sum of {} is {}, not {}", op, x.dtype(), wanted, y.dtype());
}

void check_rows(std::string_view op, const Tensor& x) {
  check(x.shape().rank() == 2 && x.shape()[1] > 0,
        "{}: needs rows (N,C) with C > 0, got {}",
        op,
        x.shape());
}

/// True if the target holds classes, false if it holds weights.
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
  if (target.device().is_cuda()) return true;  // the kernel looks: the host must not wait here
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
  const Twin twin = twin_of(ctx, "sum", x);
  if (twin == Twin::cuda) {
    if constexpr (kHaveCuda)
      for_cuda_floating("sum", x.dtype(), [&]<class T>() {
        Tensor workspace = ctx.empty({cuda::sum_workspace(x.elements())}, DType::f32);
        cuda::sum(ctx.cuda().compute(),
                  x.data<T>(),
                  static_cast<float>(factor),
                  y.data<float>(),
                  x.elements(),
                  workspace.data<float>());
      });
    return;
  }
  for_floating("sum", x.dtype(), [&]<class T>() {
    if constexpr (kHasFastTwin<T>) {
      if (twin == Twin::fast)
        return cpu::sum(ctx.threads(), x.data<T>(), factor, y.data<float>(), x.elements());
      reference::sum(x.data<T>(), factor, y.data<float>(), x.elements());
    } else {
      reference::sum(x.data<T>(), factor, y.data<double>(), x.elements());
    }
  });
}

void sum_backward(Context& ctx, const Tensor& dy, double factor, Tensor& dx, GradMode mode) {
  check_sum("sum_backward", dx, dy);
  const Twin twin = twin_of(ctx, "sum_backward", dx);
  if (twin == Twin::cuda) {
    if constexpr (kHaveCuda)
      for_cuda_floating("sum_backward", dx.dtype(), [&]<class T>() {
        cuda::sum_backward(ctx.cuda().compute(),
                           dy.data<float>(),
                           static_cast<float>(factor),
                           dx.data<T>(),
                           mode,
                           dx.elements());
      });
    return;
  }
  for_floating("sum_backward", dx.dtype(), [&]<class T>() {
    if constexpr (kHasFastTwin<T>) {
      if (twin == Twin::fast)
        return cpu::sum_backward(
            ctx.threads(), dy.data<float>(), factor, dx.data<T>(), mode, dx.elements());
      reference::sum_backward(dy.data<float>(), factor, dx.data<T>(), mode, dx.elements());
    } else {
      reference::sum_backward(dy.data<double>(), factor, dx.data<T>(), mode, dx.elements());
    }
  });
}

void argmax(Context& ctx, const Tensor& x, Tensor& index) {
  check_rows("argmax", x);
  const std::int64_t rows = x.shape()[0];
  const std::int64_t columns = x.shape()[1];
  check(index.shape() == Shape{rows},
        "argmax: the places have shape ({}), not {}",
        rows,
        index.shape());
  const Twin twin = twin_of(ctx, "argmax", x);
  if (twin == Twin::cuda) {
    if constexpr (kHaveCuda)
      for_cuda_floating("argmax", x.dtype(), [&]<class T>() {
        cuda::argmax(ctx.cuda().compute(), x.data<T>(), index.data<std::int64_t>(), rows, columns);
      });
    return;
  }
  for_floating("argmax", x.dtype(), [&]<class T>() {
    if constexpr (kHasFastTwin<T>)
      if (twin == Twin::fast)
        return cpu::argmax(ctx.threads(), x.data<T>(), index.data<std::int64_t>(), rows, columns);
    reference::argmax(x.data<T>(), index.data<std::int64_t>(), rows, columns);
  });
}

void top_k(Context& ctx, const Tensor& x, Tensor& values, Tensor& index) {
  check_rows("top_k", x);
  const std::int64_t rows = x.shape()[0];
  const std::int64_t columns = x.shape()[1];
  check(values.shape().rank() == 2 && values.shape()[0] == rows && values.shape() == index.shape(),
        "top_k: values {} and places {} must both be ({},k)",
        values.shape(),
        index.shape(),
        rows);
  const std::int64_t k = values.shape()[1];
  check<UsageError>(k >= 1 && k <= columns, "top_k: k = {} of {} values", k, columns);
  const Twin twin = twin_of(ctx, "top_k", x);
  if (twin == Twin::cuda) {
    if constexpr (kHaveCuda)
      for_cuda_floating("top_k", x.dtype(), [&]<class T>() {
        cuda::top_k(ctx.cuda().compute(),
                    x.data<T>(),
                    values.data<T>(),
                    index.data<std::int64_t>(),
                    rows,
                    columns,
                    k);
      });
    return;
  }
  for_floating("top_k", x.dtype(), [&]<class T>() {
    auto* places = index.data<std::int64_t>();
    if constexpr (kHasFastTwin<T>)
      if (twin == Twin::fast)
        return cpu::top_k(ctx.threads(), x.data<T>(), values.data<T>(), places, rows, columns, k);
    reference::top_k(x.data<T>(), values.data<T>(), places, rows, columns, k);
  });
}

void count_hits(Context& ctx,
                const Tensor& x,
                const Tensor& target,
                std::int64_t k,
                Counted counted,
                Tensor& count) {
  check_rows("count_hits", x);
  const std::int64_t rows = x.shape()[0];
  const std::int64_t columns = x.shape()[1];
  const bool labelled = check_hit_target(ctx, x, target);
  check(count.elements() == 1, "count_hits: the count has one element, not {}", count.shape());
  check_device(ctx, "count_hits", count);
  check<UsageError>(k >= 1, "count_hits: k must be at least 1, not {}", k);
  const Twin twin = twin_of(ctx, "count_hits", x);
  if (twin == Twin::cuda) {
    if constexpr (kHaveCuda)
      for_cuda_floating("count_hits", x.dtype(), [&]<class T>() {
        cuda::count_hits(ctx.cuda().compute(),
                         x.data<T>(),
                         {.classes = labelled ? target.data<std::int64_t>() : nullptr,
                          .weights = labelled ? nullptr : target.data<float>(),
                          .rows = rows,
                          .columns = columns},
                         k,
                         counted == Counted::misses,
                         count.data<std::int64_t>(),
                         ctx.cuda().fault(cuda::FaultKind::hit_class));
      });
    return;
  }
  for_floating("count_hits", x.dtype(), [&]<class T>() {
    const cpu::HitTarget<WideType<T>> wanted{
        .classes = labelled ? target.data<std::int64_t>() : nullptr,
        .weights = labelled ? nullptr : target.data<WideType<T>>(),
        .rows = rows,
        .columns = columns};
    const auto hits = [&] {
      if constexpr (kHasFastTwin<T>)
        if (twin == Twin::fast) return cpu::count_hits(ctx.threads(), x.data<T>(), wanted, k);
      return reference::count_hits(x.data<T>(), wanted, k);
    }();
    *count.data<std::int64_t>() += counted == Counted::hits ? hits : rows - hits;
  });
}

}  // namespace learn::kernels
