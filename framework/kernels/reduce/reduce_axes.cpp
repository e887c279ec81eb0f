#include "framework/kernels/reduce/reduce_axes.h"

#include "framework/kernels/reduce/reduce_axes_kernels.h"
#include "framework/kernels/reduce/reduce_axes_reference.h"
#include "framework/runtime/dispatch.h"
#include "framework/tensor/convert.h"

#include <utility>

namespace learn::kernels {
namespace {

constexpr const char* kOp = "reduce_axes";

bool is_reduced(const Shape& x, const Shape& y, int d) { return y[d] == 1 && x[d] != 1; }

/// One step: the last run of reduced dimensions of x, seen as (outer, count, inner), and the shape
/// that is left.
struct Step {
  std::int64_t outer = 1, count = 1, inner = 1;
  Shape left;
  bool last = true;  ///< no other dimension has to be reduced
};

Step next_step(const Shape& x, const Shape& y) {
  Step step{.left = x};
  int d = x.rank() - 1;
  for (; d >= 0 && !is_reduced(x, y, d); --d) step.inner *= x[d];
  for (; d >= 0 && (is_reduced(x, y, d) || x[d] == 1); --d) {
    step.count *= x[d];
    step.left.set(d, 1);
  }
  for (; d >= 0; --d) {
    step.outer *= x[d];
    step.last = step.last && !is_reduced(x, y, d);
  }
  return step;
}

void check_operands(Context& ctx, const Tensor& x, const Tensor& y) {
  bool fits = x.shape().rank() == y.shape().rank();
  for (int d = 0; fits && d < x.shape().rank(); ++d)
    fits = y.shape()[d] == x.shape()[d] || y.shape()[d] == 1;
  check(fits, "{}: {} cannot be reduced to {}", kOp, x.shape(), y.shape());
  check<DTypeError>(is_floating(x.dtype()) && is_floating(y.dtype()) &&
                        (x.dtype() == DType::f64) == (y.dtype() == DType::f64),
                    "{}: needs floating types, f64 of f64, got {} of {}",
                    kOp,
                    y.dtype(),
                    x.dtype());
  check_f64_device(ctx, kOp, x.dtype());
  check_device(ctx, kOp, x);
  check_device(ctx, kOp, y);
}

}  // namespace

void reduce_axes(Context& ctx, Reduction reduction, const Tensor& x, double factor, Tensor& y) {
  check_operands(ctx, x, y);
  if (y.elements() == 0) return;
  check(reduction == Reduction::sum || x.elements() > 0,
        "{}: shape {} has no elements, so the result is undefined",
        kOp,
        x.shape());
  Tensor from = x;
  for (bool done = false; !done;) {
    const Step step = next_step(from.shape(), y.shape());
    done = step.last;
    Tensor to = done ? y : Tensor(ctx.step(), step.left, wide_dtype(x.dtype()));
    const AxisReduction r{.reduction = reduction,
                          .x = std::as_const(from).raw(),
                          .x_dtype = from.dtype(),
                          .y = to.raw(),
                          .y_dtype = to.dtype(),
                          .outer = step.outer,
                          .count = step.count,
                          .inner = step.inner,
                          .factor = done ? factor : 1};
    if (x.dtype() == DType::f64)
      reduce_axis(reference::Exec{}, r);
    else
      with_executor(ctx, [&](const auto& exec) { reduce_axis(exec, r); });
    from = to;
  }
}

}  // namespace learn::kernels
