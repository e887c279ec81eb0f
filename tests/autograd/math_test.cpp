#include "framework/autograd/ops.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace learn;
using learn::test::OpCase;
using learn::test::OpInput;
using learn::test::test_op;

namespace {

using Vars = std::span<const Var>;

template <class Op>
OpCase unary(const char* name, const OpInput& x, Op op) {
  return {
      .name = name, .inputs = {x}, .call = [op](Tape&, Vars in) { return op(in[0]); }, .units = 4};
}

template <class Op>
OpCase binary(const char* name, const OpInput& a, const OpInput& b, Op op) {
  return {.name = name,
          .inputs = {a, b},
          .call = [op](Tape&, Vars in) { return op(in[0], in[1]); },
          .units = 4};
}

/// More than one block of the CPU's interpreter, the last of them ragged.
const Shape kBlocks{3, 211};

}  // namespace

TEST_CASE("elementwise functions: gradients, parity, determinism") {
  const OpInput any{.name = "x", .shape = kBlocks, .low = -3, .high = 3, .kinks = {0, -2, 2}};
  const OpInput positive{.name = "x", .shape = kBlocks, .low = 0.1, .high = 4};
  test_op(unary("abs", any, ops::abs));
  test_op(unary("sqrt", positive, ops::sqrt));
  test_op(unary("exp", any, ops::exp));
  test_op(unary("log", positive, ops::log));
  test_op(unary("sigmoid", any, ops::sigmoid));
  test_op(unary("sin", any, ops::sin));
  test_op(unary("cos", any, ops::cos));
  test_op(unary("tanh", any, ops::tanh));
  test_op(unary("softplus", any, ops::softplus));
  test_op(unary("clamp", any, [](const Var& x) { return ops::clamp(x, -2, 2); }));
  test_op(unary("pow", positive, [](const Var& x) { return ops::pow(x, 1.7); }));
  test_op(unary("numbers", positive, [](const Var& x) {
    return (1 - x) / 3 + 2 / x * 0.5 - (-x - 1) + (x + 0.25) - 2 * x + (0.5 + x);
  }));
  test_op(unary("map", any, [](const Var& v) {
    return ops::map([](const Expr& x) { return log1p(x * x) * sign(x) + softplus(-x); }, v);
  }));
}

TEST_CASE("two operands, broadcast: gradients, parity, determinism") {
  const OpInput a{.name = "a", .shape = {4, 3, 5}, .low = 0.5, .high = 2};
  for (const Shape& shape : {Shape{4, 3, 5}, Shape{5}, Shape{}, Shape{3, 1}, Shape{4, 1, 5}}) {
    OpInput b{.name = "b", .shape = shape, .low = 0.5, .high = 2};
    OpCase cases[] = {binary("sub", a, b, ops::sub),
                      binary("div", b, a, ops::div),
                      binary("mul", a, b, ops::mul),
                      binary("add", b, a, ops::add)};
    for (OpCase& one : cases) {
      one.reduction = 60 / shape.elements();
      test_op(one);
    }
  }
  // Each makes the other larger; and values that are far apart enough for differences.
  const OpInput column{.name = "column", .shape = {6, 1}, .low = 0.5, .high = 2, .distinct = true};
  const OpInput row{.name = "row", .shape = {7}, .low = 0.55, .high = 2.05, .distinct = true};
  OpCase cases[] = {
      binary("pow", column, row, [](const Var& x, const Var& y) { return ops::pow(x, y); }),
      binary("maximum", column, row, ops::maximum),
      binary("minimum", column, row, ops::minimum)};
  for (OpCase& one : cases) {
    one.reduction = 7;
    test_op(one);
  }
}

TEST_CASE("reductions over axes, softmax: gradients, parity, determinism") {
  const OpInput x{.name = "x", .shape = {3, 4, 2, 5}, .low = -2, .high = 3, .distinct = true};
  bool keepdim = false;
  for (const ops::Axes& axes :
       {ops::Axes{-1}, ops::Axes{0}, ops::Axes{1, 2}, ops::Axes{0, 2}, ops::Axes{3, 1, 0, 2}}) {
    keepdim = !keepdim;
    OpCase cases[] = {unary("sum", x, [=](const Var& v) { return ops::sum(v, axes, keepdim); }),
                      unary("mean", x, [=](const Var& v) { return ops::mean(v, axes, keepdim); }),
                      unary("max", x, [=](const Var& v) { return ops::max(v, axes, keepdim); }),
                      unary("min", x, [=](const Var& v) { return ops::min(v, axes, keepdim); })};
    for (OpCase& one : cases) {
      one.reduction = 120;
      test_op(one);
    }
  }
  for (const Shape& shape : {Shape{3, 2, 37}, Shape{5, 1}, Shape{64}, Shape{40, 601}}) {
    const OpInput logits{.name = "logits", .shape = shape, .low = -4, .high = 4};
    for (OpCase one :
         {unary("softmax", logits, ops::softmax), unary("log_softmax", logits, ops::log_softmax)}) {
      one.reduction = shape[-1];
      test_op(one);
    }
  }
}

TEST_CASE("log1p keeps small numbers, which 1 + x would round away") {
  const OpInput small{.name = "x", .shape = kBlocks, .low = 1e-7, .high = 1e-6};
  test_op(unary("log1p", small, [](const Var& v) {
    return ops::map([](const Expr& x) { return log1p(x); }, v);
  }));
}

TEST_CASE("exp and its derived functions have C's values at their limits") {
  constexpr double kInf = INFINITY;
  std::vector<double> x{
      -kInf, -1e30, -200, -104, -103.98, -87.34, 0, 88.5, 88.72, 88.73, 200, 1e30, kInf};
  for (const float end : {88.7228F, -87.3365F})
    for (int i = -2000; i <= 2000; ++i)
      x.push_back(std::bit_cast<float>(std::bit_cast<std::int32_t>(end) + i));
  Context ctx(learn::test::fast_context(2));
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    CAPTURE(dtype);
    Tape tape(ctx);
    const Var v = tape.input(learn::test::put_values(ctx, {std::ssize(x)}, x, dtype));
    const Tensor given = to_host(ctx, v.value());
    const Tensor power = to_host(ctx, ops::exp(v).value());
    for (std::int64_t i = 0; i < std::ssize(x); ++i) {
      CAPTURE(get(given, i));
      Tensor rounded = host_tensor({1}, dtype);
      set(rounded, 0, std::exp(get(given, i)));
      const double expected = get(rounded, 0);
      const double got = get(power, i);
      if (std::abs(expected) < 0x1p-126 && dtype != DType::f16)
        CHECK((got == 0 || got == doctest::Approx(expected)));  // subnormal
      else if (dtype == DType::f32 && std::isfinite(expected))
        CHECK(std::abs(got - expected) <= 0x1p-22 * expected);
      else
        CHECK(got == expected);
      if (get(given, i) < -103.98) CHECK(got == 0);
    }
  }
  Tape tape(ctx);
  const auto values = [&](auto op, std::vector<double> of) {
    const Var v = tape.input(learn::test::put_values(ctx, {std::ssize(of)}, of));
    const Tensor y = to_host(ctx, op(v).value());
    return std::vector<double>(y.span<float>().begin(), y.span<float>().end());
  };
  using Values = std::vector<double>;
  CHECK(values(ops::sigmoid, {-kInf, -200, kInf}) == Values{0, 0, 1});
  CHECK(values(ops::tanh, {-kInf, -200, kInf}) == Values{-1, -1, 1});
  CHECK(values(ops::softplus, {-kInf, -200, kInf}) == Values{0, 0, kInf});
  // A mask leaves nothing.
  CHECK(values(ops::softmax, {1, -kInf, 1, -200}) == Values{0.5, 0, 0.5, 0});
  CHECK(values(ops::log_softmax, {1000, -kInf, 0}) == Values{0, -kInf, -1000});
  CHECK(std::isnan(values(ops::log_softmax, {0, NAN, 1})[0]));
  CHECK(std::isnan(values(ops::exp, {NAN})[0]));
}

TEST_CASE("powers have the values of C for every base and exponent") {
  constexpr double kInf = INFINITY;
  std::vector<double> numbers{0,          0.5,        1,        1.5,         2,
                              3,          4.75,       7,        1e-30,       1e20,
                              kInf,       0x1p-149,   0x1p-126, 0x1p127,     0x1p23 + 1,
                              0x1p24 - 1, 0x1p24 + 2, 0x1p31,   1 - 0x1p-24, 1 + 0x1p-23};
  for (std::size_t i = 0, positive = numbers.size(); i < positive; ++i)
    numbers.push_back(-numbers[i]);
  numbers.push_back(NAN);
  std::vector<double> bases;
  std::vector<double> exponents;
  for (const double base : numbers)
    for (const double exponent : numbers) {
      bases.push_back(base);
      exponents.push_back(exponent);
    }
  // Bases of all sizes, with exponents whose powers f32 can hold.
  for (std::int64_t i = 0; i < learn::test::sized(60000, 500); ++i) {
    const double base = std::ldexp(1 + static_cast<double>(i * 7919 % 10007) / 10007,
                                   static_cast<int>(i % 253 - 126));
    const double limit = 126 / std::max(1e-3, std::fabs(std::log2(base)));
    bases.push_back(static_cast<float>(base));
    exponents.push_back(
        static_cast<float>(limit * (static_cast<double>(i * 104729 % 20011) / 10005.5 - 1)));
  }
  Context ctx(learn::test::fast_context(2));
  Tape tape(ctx);
  const auto on_tape = [&](const std::vector<double>& x) {
    return tape.input(learn::test::put_values(ctx, {std::ssize(x)}, x));
  };
  const Tensor power = to_host(ctx, ops::pow(on_tape(bases), on_tape(exponents)).value());
  const double units = learn::test::testing_cuda() ? 8 : 0.6;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    CAPTURE(bases[i]);
    CAPTURE(exponents[i]);
    const double exact = std::pow(bases[i], exponents[i]);
    const auto rounded = static_cast<float>(exact);
    const double got = get(power, static_cast<std::int64_t>(i));
    CAPTURE(got);
    if (std::isnan(rounded)) {
      CHECK(std::isnan(got));
      continue;
    }
    CHECK(std::signbit(got) == std::signbit(rounded));
    if (rounded == 0 || std::isinf(rounded))
      CHECK(got == rounded);
    else
      CHECK(std::fabs(got - exact) <=
            units * std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23));
  }
}

TEST_CASE("sine and cosine are right for arguments of any size, and near their zeros") {
  constexpr double kHalfPi = 1.57079632679489661923;
  std::vector<double> x{0, -0.0, 8192, -8192, 8192.001, 1e6, -1e30, 1e-30};
  for (int i = -600; i <= 600; ++i) x.push_back(i * 1.37e-2 * i * (i < 0 ? -1 : 1));
  for (int n = -5200; n <= 5200; n += 13) x.push_back(n * kHalfPi);
  // The nearest that an f32 comes to a multiple of pi / 2: 1.6e-9; and the next ones.
  for (const double near : {0x1.f37c8ap+95, 0x1.47d0fep+34, 0x1.f37c8ap+96}) x.push_back(near);
  for (int power = 12; power < 128; ++power) x.push_back(std::ldexp(power % 2 - 0.31, power));
  Context ctx(learn::test::fast_context(2));
  Tape tape(ctx);
  const Var v = tape.input(learn::test::put_values(ctx, {std::ssize(x)}, x));
  const Tensor given = to_host(ctx, v.value());
  const Tensor sine = to_host(ctx, ops::sin(v).value());
  const Tensor cosine = to_host(ctx, ops::cos(v).value());
  for (std::int64_t i = 0; i < std::ssize(x); ++i) {
    CAPTURE(get(given, i));
    // Two units in the last place of what is near 1, and some of the result where it is small.
    const auto allowed = [](double exact) { return 0x1p-22 * std::max(std::fabs(exact), 0x1p-28); };
    const double s = std::sin(get(given, i));
    const double c = std::cos(get(given, i));
    CHECK(std::fabs(get(sine, i) - s) <= allowed(s));
    CHECK(std::fabs(get(cosine, i) - c) <= allowed(c));
  }
}

TEST_CASE("a normalization of halves is composed in f32, as inside PyTorch") {
  Context ctx(learn::test::fast_context(1));
  Tape tape(ctx);
  const std::vector<double> row{300, -300, 100, 0};
  const auto normalized = [](const Var& x) {
    const Var centred = x - ops::mean(x, {-1}, true);
    return centred / ops::sqrt(ops::mean(centred * centred, {-1}, true) + 1e-5);
  };
  const Var x = tape.input(learn::test::put_values(ctx, {1, 4}, row, DType::f16));
  const Tensor wide =
      to_host(ctx, ops::cast(normalized(ops::cast(x, DType::f32)), DType::f16).value());
  const Tensor halves = to_host(ctx, normalized(x).value());
  const std::vector<double> torch{1.2705, -1.5010, 0.3464, -0.1155};  // layer_norm of that in f16
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(get(wide, i) == doctest::Approx(torch[static_cast<std::size_t>(i)]).epsilon(1e-3));
    CHECK(get(halves, i) == 0);  // 300 squared is infinite: so do PyTorch's operations
  }
}

TEST_CASE("a slice has the elements from its start to its end") {
  Context ctx(learn::test::fast_context(1));
  Tape tape(ctx);
  const Var x = tape.input(learn::test::put_values(
      ctx, {2, 3, 2}, std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  const auto values = [&](const Var& v) {
    const Tensor host = to_host(ctx, v.value());
    return std::vector<float>(host.span<float>().begin(), host.span<float>().end());
  };
  CHECK(values(ops::slice(x, 0, 1, 2)) == std::vector<float>{6, 7, 8, 9, 10, 11});
  CHECK(values(ops::slice(x, 1, 1, 3)) == std::vector<float>{2, 3, 4, 5, 8, 9, 10, 11});
  CHECK(values(ops::slice(x, -1, -1, 2)) == std::vector<float>{1, 3, 5, 7, 9, 11});
}

TEST_CASE("matmul, slice, transpose, permute: gradients, parity, determinism") {
  const auto product = [](const Shape& a, const Shape& b) {
    OpCase op = binary("matmul", {.name = "a", .shape = a}, {.name = "b", .shape = b}, ops::matmul);
    op.reduction = 65;
    return op;
  };
  test_op(product({3, 5}, {5, 4}));
  test_op(product({2, 3, 8}, {2, 8, 16}));
  test_op(product({2, 3, 5}, {2, 5, 7}));
  test_op(product({2, 3, 2, 4}, {2, 3, 4, 4}));
  test_op(product({3, 17, 33}, {3, 33, 50}));
  test_op(product({5, 1, 7}, {5, 7, 32}));
  test_op(product({2, 40, 3}, {2, 3, 48}));
  test_op(product({2, 65, 4}, {2, 4, 64}));
  test_op(product({2, 2, 3, 5}, {5, 7}));
  const OpInput x{.name = "x", .shape = {3, 4, 5}};
  test_op(unary("slice", x, [](const Var& v) { return ops::slice(v, 1, 1, -1); }));
  test_op(unary("slice", x, [](const Var& v) { return ops::slice(v, -1, 2, 5); }));
  test_op(unary(
      "slice", x, [](const Var& v) { return ops::slice(v, 0, 0, 2) + ops::slice(v, 0, 1, 3); }));
  test_op(unary("transpose", x, [](const Var& v) { return ops::transpose(v, 0, -1); }));
  test_op(unary("permute", x, [](const Var& v) { return ops::permute(v, {1, 2, 0}); }));
}
