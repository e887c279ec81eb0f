#include "framework/kernels/elementwise/elementwise.h"

#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/common/bias.h"
#include "framework/kernels/reduce/reduce.h"

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

namespace learn::ops {
namespace {

struct AddNode final : Node {
  std::string_view name() const override { return "add"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.pass_on(input(0), dy);
    tape.pass_on(input(1), dy);
  }
};

struct MulNode final : Node {
  Tensor a;  ///< undefined where the other factor needs no gradient
  Tensor b;
  MulNode(Tensor a_in, Tensor b_in) : a(std::move(a_in)), b(std::move(b_in)) {}
  std::string_view name() const override { return "mul"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      kernels::multiply(tape.context(), dy, b, dx, mode);
    });
    tape.accumulate(input(1), [&](Tensor& dx, GradMode mode) {
      kernels::multiply(tape.context(), dy, a, dx, mode);
    });
  }
};

struct ScaleNode final : Node {
  double factor;
  explicit ScaleNode(double f) : factor(f) {}
  std::string_view name() const override { return "scale"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      kernels::scale(tape.context(), dy, factor, dx, mode);
    });
  }
  OpAttributes attributes() const override { return ScaleAttributes{factor}; }
};

struct AddBiasNode final : Node {
  std::string_view name() const override { return "add_bias"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.pass_on(input(0), dy);
    tape.accumulate(input(1), [&](Tensor& db, GradMode mode) {
      kernels::bias_backward(tape.context(), dy, db, mode);
    });
  }
};

struct CastNode final : Node {
  std::string_view name() const override { return "cast"; }
  void backward(Tape& tape, const Tensor& dy) override { tape.pass_on(input(0), dy); }
};

struct DropoutNode final : Node {
  kernels::DropoutMask mask;
  explicit DropoutNode(kernels::DropoutMask m) : mask(std::move(m)) {}
  std::string_view name() const override { return "dropout"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      kernels::dropout(tape.context(), mask, dy, dx, mode);
    });
  }
};

struct SumNode final : Node {
  double factor;
  explicit SumNode(double f) : factor(f) {}
  std::string_view name() const override { return "sum"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      kernels::sum_backward(tape.context(), dy, factor, dx, mode);
    });
  }
};

/// Gradients of operands whose shapes differ.
Var broadcast(const MapFunction& f, const Var& a, const Var& b) {
  check<DTypeError>(
      a.dtype() == b.dtype(), "{}: dtypes differ: {} and {}", f.name(), a.dtype(), b.dtype());
  return map(f, std::array{a, b}, CastClass::given);
}

/// Returns the index in the whole batch of the first element of a value on the tape.
std::int64_t first_element(const Tape& tape, const Shape& shape) {
  if (shape.elements() == 0 || shape.rank() == 0) return 0;
  std::int64_t first = 0;
  if (__builtin_mul_overflow(tape.options().first_row, shape.elements() / shape[0], &first))
    return std::numeric_limits<std::int64_t>::max();  // an error of the kernel
  return first;
}

Var scaled_sum(const Var& x, double factor) {
  Tape& tape = x.tape();
  Tensor y = tape.empty({}, x.dtype() == DType::f64 ? DType::f64 : DType::f32);
  kernels::sum(tape.context(), x.value(), factor, y);
  return tape.record({x}, y, SumNode(factor));
}

}  // namespace

Var add(const Var& a, const Var& b) {
  if (const auto cast = autocast(cast_class("add"), a, b)) return add((*cast)[0], (*cast)[1]);
  if (a.shape() != b.shape()) {
    static const MapFunction kSum(expr::arg(0) + expr::arg(1), "add");
    return broadcast(kSum, a, b);
  }
  Tape& tape = a.tape();
  Tensor y = tape.empty(a.shape(), a.dtype());
  kernels::add(tape.context(), a.value(), b.value(), y);
  return tape.record({a, b}, y, AddNode());
}

Var mul(const Var& a, const Var& b) {
  if (const auto cast = autocast(cast_class("mul"), a, b)) return mul((*cast)[0], (*cast)[1]);
  if (a.shape() != b.shape()) {
    static const MapFunction kProduct(expr::arg(0) * expr::arg(1), "mul");
    return broadcast(kProduct, a, b);
  }
  Tape& tape = a.tape();
  Tensor y = tape.empty(a.shape(), a.dtype());
  kernels::multiply(tape.context(), a.value(), b.value(), y);
  return tape.record(
      {a, b},
      y,
      MulNode(b.needs_grad() ? a.value() : Tensor(), a.needs_grad() ? b.value() : Tensor()));
}

Var scale(const Var& x, double factor) {
  Tape& tape = x.tape();
  Tensor y = tape.empty(x.shape(), x.dtype());
  kernels::scale(tape.context(), x.value(), factor, y);
  return tape.record({x}, y, ScaleNode(factor));
}

Var add_bias(const Var& x, const Var& bias) {
  if (const auto cast = autocast(cast_class("add_bias"), x, bias))
    return add_bias((*cast)[0], (*cast)[1]);
  Tape& tape = x.tape();
  Tensor y = tape.empty(x.shape(), x.dtype());
  kernels::add_bias(tape.context(), x.value(), bias.value(), y);
  return tape.record({x, bias}, y, AddBiasNode());
}

Var cast(const Var& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tape& tape = x.tape();
  Tensor y = tape.empty(x.shape(), dtype);
  kernels::cast(tape.context(), x.value(), y);
  Var out = tape.record({x}, y, CastNode());
  if (x.padding() != 0) tape.set_padding(out, x.padding());
  return out;
}

Var dropout(const Var& x, double p) {
  check<UsageError>(p >= 0 && p < 1, "dropout: the probability must be in [0, 1), not {}", p);
  Tape& tape = x.tape();
  if (!tape.training() || p == 0) return x;
  kernels::DropoutMask mask{
      p, tape.batch_index(), tape.next_random_stream(), first_element(tape, x.shape())};
  Tensor y = tape.empty(x.shape(), x.dtype());
  kernels::dropout(tape.context(), mask, x.value(), y);
  return tape.record({x}, y, DropoutNode(std::move(mask)));
}

Var sum(const Var& x) {
  if (const auto cast = autocast(cast_class("sum"), x)) return sum((*cast)[0]);
  return scaled_sum(x, 1);
}

Var mean(const Var& x) {
  if (const auto cast = autocast(cast_class("mean"), x)) return mean((*cast)[0]);
  check(x.value().elements() > 0, "mean: shape {} has no elements", x.shape());
  return scaled_sum(x, 1 / static_cast<double>(x.value().elements()));
}

}  // namespace learn::ops
