
#include "framework/kernels/map/map.h"

#include "framework/autograd/ops.h"
#include "framework/kernels/reduce/reduce_axes.h"
#include "tests/support/compare.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

using namespace learn;
using expr::arg;
using kernels::MapProgram;
using kernels::MapResult;
using learn::test::put_full;
using learn::test::put_uniform;
using learn::test::put_values;

namespace {

Var on(Tape& tape, const Shape& shape, DType dtype = DType::f32) {
  return tape.input(put_full(tape.context(), shape, dtype, 1), true);
}

}  // namespace

TEST_CASE("map: a repeated expression is computed once") {
  const Expr x = arg(0);
  const MapProgram program = kernels::compile(std::vector<Expr>{exp(x) * exp(x), 1 / exp(x), 2});
  CHECK(program.instructions == 4);  // x, exp(x), and what is made of it twice
  CHECK(program.numbers == 2);
  CHECK(program.reads(0));
  CHECK_FALSE(program.reads(1));
  const std::array wanted{0, 1};
  // Numbers fold, and what no argument reaches costs nothing.
  const std::vector<Expr> gradient = expr::gradients(3 * arg(0) + exp(Expr(2.0)), arg(1), wanted);
  CHECK(kernels::compile(gradient).instructions == 2);
  CHECK(gradient[1]->number == 0);
}

TEST_CASE("map: a gradient reads the value if that has all digits and spares an operand") {
  const ops::MapFunction sigmoid(expr::sigmoid(arg(0)));
  CHECK(sigmoid.gradient(1).reads(0));
  CHECK_FALSE(sigmoid.gradient(1, true).reads(0));
  CHECK(sigmoid.gradient(1, true).reads(2));  // after the operand and the value's gradient
  CHECK_FALSE(ops::MapFunction(arg(0) / 3).has_slope_of_value());
  Context ctx(test::fast_context(1));
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    CAPTURE(dtype);
    Tape tape(ctx);
    // 1 - sigmoid(8) is 3.4e-4, of which halves of the sigmoid keep little.
    const Var x = tape.input(put_full(ctx, {3}, dtype, 8), true);
    const Var u = tape.input(put_full(ctx, {3}, dtype, 6), true);
    const Var v = tape.input(put_full(ctx, {3}, dtype, 3), true);
    tape.backward(ops::sum(ops::sigmoid(x)) + ops::sum(u / v));
    CHECK(test::fetch(ctx, tape.grad_of(x), 2) * 1e4 == doctest::Approx(3.3524).epsilon(4e-3));
    CHECK(test::fetch(ctx, tape.grad_of(u), 2) == doctest::Approx(1.0 / 3).epsilon(4e-3));
    CHECK(test::fetch(ctx, tape.grad_of(v), 2) == doctest::Approx(-6.0 / 9).epsilon(4e-3));
  }
}

TEST_CASE("map: several results in place, of several types, added and written over") {
  Context ctx(test::fast_context(2));
  const std::int64_t n = 1300;  // two whole blocks and a part of one
  Tensor a = put_uniform(ctx, {n}, DType::f32, -1, 1, 1);
  Tensor b = put_uniform(ctx, {n}, DType::f32, -1, 1, 2);
  Tensor half = put_full(ctx, {n}, DType::bf16, 0.5);
  const Tensor counts = put_full(ctx, {1}, DType::i64, 3);
  const Tensor byte = put_full(ctx, {}, DType::u8, 2);
  const Tensor whole = put_full(ctx, {1}, DType::i32, 7);
  const Tensor a0 = to_host(ctx, a);
  const Tensor b0 = to_host(ctx, b);
  const std::vector<Expr> outputs{arg(1), arg(0), arg(2) * arg(0) + arg(3) - arg(4)};
  const std::array<Tensor, 5> inputs{a, b, counts, byte, whole};
  std::vector<MapResult> results{{a}, {b}, {half, GradMode::accumulate}};
  kernels::map(ctx, kernels::compile(outputs), inputs, results);
  const Tensor a1 = to_host(ctx, a);
  const Tensor b1 = to_host(ctx, b);
  const Tensor half1 = to_host(ctx, half);
  for (std::int64_t i = 0; i < n; ++i) {
    CHECK(get(a1, i) == get(b0, i));
    CHECK(get(b1, i) == get(a0, i));
    CHECK(get(half1, i) == doctest::Approx(3 * get(a0, i) - 4.5).epsilon(0.005));
  }
}

TEST_CASE("map: whole numbers have no gradient, an operand may be left out, one may come twice") {
  Context ctx(test::fast_context(1));
  Tape tape(ctx);
  const Var x = on(tape, {2, 3});
  const Var k = tape.input(put_full(ctx, {3}, DType::i64, 5));
  const auto f = [](const Expr& a, const Expr& b, const Expr&, const Expr& c) { return a * b * c; };
  const Var y = ops::map(f, x, k, on(tape, {4, 1, 1}), x);
  CHECK(y.shape() == Shape{4, 2, 3});
  tape.backward(ops::sum(y));
  for (std::int64_t i = 0; i < 6; ++i) CHECK(test::fetch(ctx, tape.grad_of(x), i) == 4 * 2 * 5);
  tape.reset();
  const Var z = on(tape, {2, 3});
  tape.backward(ops::sum(ops::map(arg(0) * arg(1) * arg(1), {z, z})));
  CHECK(test::fetch(ctx, tape.grad_of(z), 5) == 3);
}

TEST_CASE("map: f16 and f32 give f32, and empty operands give empty results") {
  Context ctx(test::fast_context(1));
  Tape tape(ctx);
  const Var y = ops::map(arg(0) * arg(1), {on(tape, {0, 3}), on(tape, {3}, DType::f16)});
  CHECK(y.dtype() == DType::f32);
  CHECK(y.shape() == Shape{0, 3});
}

TEST_CASE("map: an operand used twice has one gradient, which may start as another's") {
  Context ctx(test::fast_context(1));
  Tape tape(ctx);
  const Var x = on(tape, {2, 3});
  const Var y = ops::scale(x, 3);
  const Var square = ops::map([](const Expr& a, const Expr& b) { return a * b; }, y, y);
  tape.backward(ops::sum(square + y));  // the sum hands one gradient over to both
  for (std::int64_t i = 0; i < 6; ++i)
    CHECK(test::fetch(ctx, tape.grad_of(x), i) == 3 * (2 * 3 + 1));
}

TEST_CASE("map: the gradient of a choice flows only to the chosen operand") {
  const std::array wanted{0, 1, 2};
  const std::vector<Expr> gradient =
      expr::gradients(select(arg(0), arg(1), arg(2)), arg(3), wanted);
  CHECK(gradient[0]->op == expr::Op::constant);  // nothing goes into the condition
  CHECK(gradient[0]->number == 0);
  Context ctx(test::fast_context(1));
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> condition{1, 0, -2, 0, 1, 0}, dy{3, 3, kInf, kInf, -0.5, -kInf};
  const Tensor none = put_full(ctx, {6}, DType::f32, 7);
  const std::array<Tensor, 4> inputs{put_values(ctx, {6}, condition, DType::f32),
                                     none,
                                     none,
                                     put_values(ctx, {6}, dy, DType::f32)};
  Tensor one = put_full(ctx, {6}, DType::f32, 9), other = put_full(ctx, {6}, DType::f32, 9);
  std::vector<MapResult> results{{one}, {other}};
  const std::vector<Expr> outputs{gradient[1], gradient[2]};
  kernels::map(ctx, kernels::compile(outputs), inputs, results);
  for (std::int64_t i = 0; i < 6; ++i) {
    const auto at = static_cast<std::size_t>(i);
    CHECK(test::fetch(ctx, one, i) == (condition[at] != 0 ? dy[at] : 0));
    CHECK(test::fetch(ctx, other, i) == (condition[at] != 0 ? 0 : dy[at]));
  }
  // Also for a condition that depends on the chosen value, as in a clamp.
  Tape tape(ctx);
  const Var x = tape.input(put_values(ctx, {3}, {-2, 0.5, 2}, DType::f32), true);
  const Expr a = arg(0);
  tape.backward(ops::sum(ops::map(select(a < 0, a * a, 3 * a), {x})));
  for (const auto& [i, slope] : {std::pair{0, -4.0}, {1, 3.0}, {2, 3.0}})
    CHECK(test::fetch(ctx, tape.grad_of(x), i) == slope);
}

TEST_CASE("map: a branch that is not taken has no gradient, however large its derivative is") {
  const Expr x = arg(0);
  const Expr logarithm = log(x);
  const Expr inner = select(x < 1, sqrt(x), logarithm);
  struct Branches {
    const char* what;
    Expr f;
    std::vector<double> x, slope;
  };
  const std::vector<Branches> all{
      {"one", select(0 < x, logarithm, x), {0, -1, 2, NAN}, {1, 1, 0.5, 1}},
      {"the other", select(x <= 0, 3 * x, 2 * sqrt(x)), {0, -1, 4}, {3, 3, 0.5}},
      {"an overflow", select(x < 50, x, exp(x * x)), {-100, 1}, {1, 1}},
      {"a quotient", select(x == 0, 1, 1 / x), {0, 2}, {0, -0.25}},
      {"nested", select(0 < x, inner, x * x), {0, -2, 0.25, 4}, {0, -4, 1, 0.25}},
      {"in two choices",
       select(0 < x, logarithm, 0) + select(1 < x, 2 * logarithm, 0),
       {0, 0.5, 2},
       {0, 2, 1.5}},
      {"in three",
       select(0 < x, logarithm, 0) + select(1 < x, logarithm, 0) +
           select(2 < x, 0, select(0 < x, sqrt(x), 0)),
       {0, 0.25, 4},
       {0, 5, 0.5}},
      {"alternatives of two",
       select(0 < x, logarithm, 0) + select(x < 1, 0, sqrt(x)),
       {0, 0.5, 4},
       {0, 2, 0.5}},
      {"also outside", select(0 < x, 2 * x, sqrt(-x)) + x, {3, -4}, {3, 0.75}},
      {"the larger", maximum(logarithm, 2), {0, 1, 16}, {0, 0, 0.0625}},
      {"the smaller", minimum(1 / x, 2), {0, 4}, {0, -0.0625}},
      {"a border", clamp(logarithm, -1, 1), {0, 1, 100}, {0, 1, 0}},
  };
  Context ctx(test::fast_context(1));
  for (const Branches& one : all) {
    CAPTURE(one.what);
    Tape tape(ctx);
    const Var v = tape.input(test::put_values(ctx, {std::ssize(one.x)}, one.x), true);
    tape.backward(ops::sum(ops::map(one.f, {v})));
    for (std::size_t i = 0; i < one.x.size(); ++i) {
      CAPTURE(one.x[i]);
      CHECK(test::fetch(ctx, tape.grad_of(v), static_cast<std::int64_t>(i)) == one.slope[i]);
    }
  }
}

TEST_CASE("map: a limit that is an operand gets the gradient of what it limits") {
  Context ctx(test::fast_context(1));
  Tape tape(ctx);
  const auto on_tape = [&](std::vector<double> values) {
    return tape.input(put_values(ctx, {6}, values), true);
  };
  const Var x = on_tape({-2, -1, 0, 1, 2, NAN});
  const Var low = on_tape({-1, -1, -1, -1, -1, -1});
  const Var high = on_tape({1, 1, 1, 1, -1, 1});
  const Var y = ops::map(clamp(arg(0), arg(1), arg(2)), {x, low, high});
  const double values[] = {-1, -1, 0, 1, -1};
  for (int i = 0; i < 5; ++i) CHECK(test::fetch(ctx, y.value(), i) == values[i]);
  CHECK(std::isnan(test::fetch(ctx, y.value(), 5)));
  tape.backward(ops::sum(y));
  const double slopes[][6] = {{0, 0, 1, 0, 0, 1}, {1, 1, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 0}};
  for (int i = 0; i < 6; ++i) {
    CHECK(test::fetch(ctx, tape.grad_of(x), i) == slopes[0][i]);
    CHECK(test::fetch(ctx, tape.grad_of(low), i) == slopes[1][i]);
    CHECK(test::fetch(ctx, tape.grad_of(high), i) == slopes[2][i]);
  }
}

TEST_CASE("map: an expression that exceeds a limit is refused with that limit") {
  Expr sum = arg(0);
  for (int i = 1; i < 13; ++i) sum = sum + arg(i);
  CHECK_THROWS_WITH_AS(
      (void)ops::MapFunction(sum), doctest::Contains("13 operands, more than 12"), UsageError);
  for (int i = 13; i < 17; ++i) sum = sum + arg(i);
  CHECK_THROWS_WITH_AS(
      (void)kernels::compile(sum), doctest::Contains("17 inputs, more than 16"), UsageError);
  Expr many = arg(0);
  for (int i = 0; i < 40; ++i) many = exp(many) * (i + 0.5);
  CHECK_THROWS_WITH_AS(
      (void)kernels::compile(many), doctest::Contains("33 numbers, more than 32"), UsageError);
  Expr deep = arg(0);
  for (int i = 0; i < 200; ++i) deep = exp(deep);
  CHECK_THROWS_WITH_AS((void)kernels::compile(deep),
                       doctest::Contains("161 instructions, more than 160"),
                       UsageError);
  CHECK_THROWS_WITH_AS(([&] {
                         for (int i = 0; i < 400; ++i) deep = exp(deep);
                       }()),
                       doctest::Contains("512 nested operations"),
                       UsageError);
  std::vector<Expr> powers{exp(arg(0))};
  for (int i = 0; i < 25; ++i) powers.push_back(exp(powers.back()));
  Expr all = powers.front();
  for (const Expr& one : powers) all = one * all;
  CHECK_THROWS_WITH_AS(
      (void)kernels::compile(all), doctest::Contains("25 registers, more than 24"), UsageError);
  CHECK_THROWS_WITH_AS((void)kernels::compile(std::vector<Expr>(13, 1)),
                       doctest::Contains("13 outputs, more than 12"),
                       UsageError);
  CHECK_THROWS_WITH_AS((void)kernels::compile(std::vector<Expr>()),
                       doctest::Contains("the list of expressions is empty"),
                       UsageError);
  CHECK_THROWS_WITH_AS((void)arg(-1), doctest::Contains("arg(-1)"), UsageError);
}

TEST_CASE("map: operands that do not fit are named") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var x = on(tape, {2, 3});
  const Var d = on(tape, {2, 3}, DType::f64);
  const auto product = arg(0) * arg(1);
  CHECK_THROWS_WITH_AS(
      (void)ops::map(product, {x, on(tape, {2})}), doctest::Contains("(2,3) and (2)"), ShapeError);
  CHECK_THROWS_WITH_AS(
      (void)ops::map(product, {x, d}), doctest::Contains("f32 and f64"), DTypeError);
  CHECK_THROWS_WITH_AS(
      (void)ops::map(product, {x}), doctest::Contains("has 2 operands but got 1"), UsageError);
  CHECK_THROWS_WITH_AS(
      (void)(x - on(tape, {2, 3}, DType::f16)), doctest::Contains("f32 and f16"), DTypeError);
  CHECK_THROWS_WITH_AS(
      (void)(x * on(tape, {3}, DType::f16)), doctest::Contains("f32 and f16"), DTypeError);
  CHECK_THROWS_WITH_AS((void)ops::clamp(x, 1, -1),
                       doctest::Contains("lower bound 1 is above the upper bound -1"),
                       UsageError);

  const MapProgram program = kernels::compile(product);
  const Tensor a = x.value();
  const auto run = [&](std::vector<Tensor> in, const Tensor& y) {
    kernels::map(ctx, program, in, y);
  };
  CHECK_THROWS_WITH_AS(run({a}, a), doctest::Contains("got 1 and 1"), UsageError);
  CHECK_THROWS_WITH_AS(
      run({a, Tensor()}, a), doctest::Contains("input 1 is not defined"), UsageError);
  CHECK_THROWS_WITH_AS(run({a, a}, put_full(ctx, {3}, DType::f32, 0)),
                       doctest::Contains("(2,3) cannot be broadcast to (3)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(
      run({a, a}, put_full(ctx, {2, 3}, DType::i64, 0)), doctest::Contains("not i64"), DTypeError);
  CHECK_THROWS_WITH_AS(
      run({a, d.value()}, a), doctest::Contains("f64 cannot be mixed"), DTypeError);
  std::vector<MapResult> two{{a}, {put_full(ctx, {3}, DType::f32, 0)}};
  CHECK_THROWS_WITH_AS(
      kernels::map(ctx, kernels::compile(std::vector<Expr>{arg(0), arg(0)}), std::array{a}, two),
      doctest::Contains("(2,3) and (3)"),
      ShapeError);
  Tensor hot = put_full(ctx, {2, 4}, DType::f32, 0);
  CHECK_THROWS_WITH_AS(kernels::one_hot(ctx, put_full(ctx, {3}, DType::i64, 0), hot),
                       doctest::Contains("(3) cannot be (2,4)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(kernels::one_hot(ctx, put_full(ctx, {2}, DType::f32, 0), hot),
                       doctest::Contains("not f32"),
                       DTypeError);
}

TEST_CASE("layouts, reductions and products: misuse says what does not fit") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var x = on(tape, {2, 3});
  CHECK_THROWS_WITH_AS(
      (void)ops::slice(x, 2, 0, 1), doctest::Contains("no axis 2 in (2,3)"), UsageError);
  CHECK_THROWS_WITH_AS(
      (void)ops::slice(x, 1, 2, 5), doctest::Contains("[2, 5) of axis 1 of (2,3)"), UsageError);
  CHECK_THROWS_WITH_AS(
      (void)ops::permute(x, {0, 0}), doctest::Contains("2 dimensions of (2,3) once"), UsageError);
  CHECK(ops::slice(x, 1, 1, 1).shape() == Shape{2, 0});
  CHECK_THROWS_WITH_AS((void)ops::sum(x, ops::Axes{}), doctest::Contains("no axis of"), UsageError);
  CHECK_THROWS_WITH_AS((void)ops::max(x, {-3}), doctest::Contains("no axis -3"), UsageError);
  CHECK_THROWS_WITH_AS((void)ops::mean(x, {1, -1}),
                       doctest::Contains("axis -1 of (2,3) is named twice"),
                       UsageError);
  const Var none = on(tape, {2, 0});
  CHECK_THROWS_WITH_AS(
      (void)ops::mean(none, {1}), doctest::Contains("(2,0) has no elements"), ShapeError);
  CHECK_THROWS_WITH_AS(
      (void)ops::max(none, {1}), doctest::Contains("(2,0) has no elements"), ShapeError);
  CHECK_THROWS_WITH_AS(
      (void)ops::softmax(none), doctest::Contains("(2,0) has no classes"), ShapeError);
  CHECK(test::fetch(ctx, ops::sum(none, {1}).value(), 1) == 0);
  CHECK_THROWS_WITH_AS((void)ops::matmul(x, x),
                       doctest::Contains("(2,3) and (2,3) cannot be multiplied"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::matmul(x, on(tape, {3, 2}, DType::f16)),
                       doctest::Contains("f32 and f16"),
                       DTypeError);

  Tensor y = put_full(ctx, {2, 2}, DType::f32, 0);
  CHECK_THROWS_WITH_AS(kernels::reduce_axes(ctx, kernels::Reduction::sum, x.value(), 1, y),
                       doctest::Contains("(2,3) cannot be reduced to (2,2)"),
                       ShapeError);
  Tensor wide = put_full(ctx, {2, 1}, DType::f64, 0);
  CHECK_THROWS_WITH_AS(kernels::reduce_axes(ctx, kernels::Reduction::sum, x.value(), 1, wide),
                       doctest::Contains("f64 of f32"),
                       DTypeError);
  Tensor moved = put_full(ctx, {2, 3}, DType::f32, 0);
  CHECK_THROWS_WITH_AS(kernels::permute(ctx, x.value(), std::array{1}, moved, GradMode::overwrite),
                       doctest::Contains("1 dimensions, but the tensor is (2,3)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(
      kernels::permute(ctx, x.value(), std::array{1, 1}, moved, GradMode::overwrite),
      doctest::Contains("dimension 1 is missing"),
      ShapeError);
  CHECK_THROWS_WITH_AS(
      kernels::permute(ctx, x.value(), std::array{1, 0}, moved, GradMode::overwrite),
      doctest::Contains("must be (3,2), not (2,3)"),
      ShapeError);
}

TEST_CASE("reductions: many elements in any layout, and NaN among them") {
  Context ctx(test::fast_context(2));
  const std::int64_t n = test::sized(5000, 300);
  for (const Shape& shape : {Shape{2, n}, Shape{n, 3}, Shape{3, n, 2}}) {
    CAPTURE(shape);
    const Tensor x = put_uniform(ctx, shape, DType::f16, 0, 1, 3);
    const Tensor host = to_host(ctx, x);
    const int axis = shape.rank() == 2 && shape[0] == n ? 0 : 1;
    Shape kept = shape;
    kept.set(axis, 1);
    const std::int64_t inner = axis + 1 < shape.rank() ? shape[axis + 1] : 1;
    for (const auto reduction :
         {kernels::Reduction::sum, kernels::Reduction::max, kernels::Reduction::min}) {
      Tensor y = put_full(ctx, kept, DType::f32, 0);
      kernels::reduce_axes(ctx, reduction, x, 1, y);
      for (std::int64_t o = 0; o < kept.elements(); ++o) {
        double sum = 0, most = 0, least = 1;
        for (std::int64_t k = 0; k < n; ++k) {
          const double value = get(host, (o / inner * n + k) * inner + o % inner);
          sum += value;
          most = std::max(most, value);
          least = std::min(least, value);
        }
        const double expected = reduction == kernels::Reduction::sum   ? sum
                                : reduction == kernels::Reduction::max ? most
                                                                       : least;
        CHECK(test::fetch(ctx, y, o) == doctest::Approx(expected).epsilon(1e-6));
      }
    }
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& values :
       {std::vector<double>{nan, 1, 2}, {1, nan, 2}, {1, 2, nan}})
    for (const auto reduction : {kernels::Reduction::max, kernels::Reduction::min})
      for (const Shape& shape : {Shape{1, 3}, Shape{3, 1}}) {
        Tensor y = put_full(ctx, {1, 1}, DType::f32, 0);
        kernels::reduce_axes(ctx, reduction, put_values(ctx, shape, values), 1, y);
        CHECK(std::isnan(test::fetch(ctx, y, 0)));
      }
}

TEST_CASE("reductions: rows of any length have their extremes or NaN") {
  Context ctx(test::fast_context(2));
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::int64_t rows = test::sized(600, 20);
  for (const std::int64_t n : {1, 15, 63, 64, 65, 200}) {
    CAPTURE(n);
    std::vector<double> values;
    for (std::int64_t i = 0; i < rows * n; ++i)
      values.push_back(static_cast<double>(i * 7919 % 1009) - 500);
    for (std::int64_t r = 0; r < rows; ++r) {
      double* const row = values.data() + r * n;
      if (r % 4 == 1) row[r % n] = r % 8 == 1 ? nan : -nan;
      if (r % 4 == 2) std::fill_n(row, n, r % 8 == 2 ? inf : -inf);
      if (r % 4 == 3) row[r % n] = r % 8 == 3 ? inf : -inf;
    }
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Tensor x = put_values(ctx, {rows, n}, values, dtype);
      const Tensor rounded = to_host(ctx, x);
      for (const auto reduction : {kernels::Reduction::max, kernels::Reduction::min}) {
        Tensor y = put_full(ctx, {rows, 1}, DType::f32, 0);
        kernels::reduce_axes(ctx, reduction, x, 1, y);
        const Tensor found = to_host(ctx, y);
        std::int64_t wrong = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
          double expected = reduction == kernels::Reduction::max ? -inf : inf;
          bool is_nan = false;
          for (std::int64_t i = 0; i < n; ++i) {
            const double value = get(rounded, r * n + i);
            is_nan = is_nan || std::isnan(value);
            if (reduction == kernels::Reduction::max ? value > expected : value < expected)
              expected = value;
          }
          const double got = get(found, r);
          if (is_nan ? !std::isnan(got) : got != expected) ++wrong;
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("reductions: sums of short rows are rounded once on the CPU") {
  Context ctx(test::fast_context(2));
  // Sums in double of another order differ by less than 1e-14. CUDA adds in f32, in pairs.
  const double allowed = ctx.device().is_cuda() ? 0x1p-21 : 0x1p-24;
  for (const std::int64_t n : {0, 1, 7, 8, 33, 64, 127})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      CAPTURE(n);
      CAPTURE(dtype);
      const Tensor x = put_uniform(ctx, {40, n}, dtype, -1, 1, 5);
      const Tensor host = to_host(ctx, x);
      Tensor y = put_full(ctx, {40, 1}, DType::f32, 1);
      kernels::reduce_axes(ctx, kernels::Reduction::sum, x, 1, y);
      for (std::int64_t r = 0; r < 40; ++r) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += get(host, r * n + i);
        CHECK(test::fetch(ctx, y, r) == doctest::Approx(sum).epsilon(allowed));
      }
    }
}
