#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/kernels/product/linear.h"

#include <utility>

namespace learn::ops {
namespace {

/// `count` products of (m,k) and (k,n).
struct Product {
  std::int64_t count, m, k, n;
};

Product product_of(const Var& a, const Var& b) {
  const Shape& x = a.shape();
  const Shape& w = b.shape();
  check<DTypeError>(
      a.dtype() == b.dtype(), "matmul: dtypes differ: {} and {}", a.dtype(), b.dtype());
  bool fits =
      x.rank() >= 2 && w.rank() >= 2 && x[-1] == w[-2] && (w.rank() == 2 || w.rank() == x.rank());
  std::int64_t leading = 1;
  for (int d = 0; fits && d < x.rank() - 2; ++d) {
    leading *= x[d];
    fits = w.rank() == 2 || w[d] == x[d];
  }
  check(fits && x.elements() > 0 && w.elements() > 0,
        "matmul: shapes {} and {} cannot be multiplied",
        x,
        w);
  if (w.rank() == 2) return {1, leading * x[-2], x[-1], w[-1]};  // one with all rows
  return {leading, x[-2], x[-1], w[-1]};
}

/// Whether matrices are stored one after the other.
Tensor matrices(const Tensor& all, std::int64_t count, std::int64_t rows, std::int64_t columns) {
  return all.view(count == 1 ? Shape{rows, columns} : Shape{count, rows, columns});
}

// A linear layer multiplies x (N,C) by w (K,C) transposed. So its gradient of x, dy (N,K) times w
// (K,C), is the plain product, whose gradients are the forward pass and the gradient of w.

struct MatmulNode final : Node {
  Tensor a, b;
  Product p;
  MatmulNode(Tensor x, Tensor w, Product product) : a(std::move(x)), b(std::move(w)), p(product) {}
  std::string_view name() const override { return "matmul"; }
  void backward(Tape& tape, const Tensor& dy) override {
    Context& ctx = tape.context();
    const Tensor gradient = matrices(dy, p.count, p.m, p.n);
    if (input(0).needs_grad()) {
      Tensor da = tape.empty(a.shape(), a.dtype());
      Tensor to = matrices(da, p.count, p.m, p.k);
      kernels::linear_forward(ctx, gradient, matrices(b, p.count, p.k, p.n), Tensor(), to);
      tape.pass_on(input(0), da);
    }
    tape.accumulate(input(1), [&](Tensor& db, GradMode mode) {
      Tensor to = matrices(db, p.count, p.k, p.n);
      kernels::linear_backward_weight(ctx, gradient, matrices(a, p.count, p.m, p.k), to, mode);
    });
  }
};

}  // namespace

Var matmul(const Var& a, const Var& b) {
  if (const auto cast = autocast(cast_class("matmul"), a, b)) return matmul((*cast)[0], (*cast)[1]);
  const Product p = product_of(a, b);
  Tape& tape = a.tape();
  Shape shape = a.shape();
  shape.set(-1, p.n);
  Tensor y = tape.empty(shape, a.dtype());
  Tensor to = matrices(y, p.count, p.m, p.n);
  kernels::linear_backward_data(tape.context(),
                                matrices(a.value(), p.count, p.m, p.k),
                                matrices(b.value(), p.count, p.k, p.n),
                                to,
                                GradMode::overwrite);
  return tape.record({a, b}, y, MatmulNode(a.value(), b.value(), p));
}

}  // namespace learn::ops
