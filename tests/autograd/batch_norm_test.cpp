#include "framework/autograd/ops.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"
#include "tests/support/gradcheck.h"
#include "tests/support/on_device.h"
#include "tests/support/op_case.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <string>
#include <vector>

using namespace learn;
using test::OpCase;
using test::OpInput;

namespace {

enum class Residual : std::uint8_t { none, before, after, self };

struct Variant {
  Shape shape;
  ActivationKind activation = ActivationKind::identity();
  Residual residual = Residual::none;
  ForwardMode mode = ForwardMode::train;
};

OpCase batch_norm_case(const Variant& v) {
  const Shape channels{v.shape[-1]};
  const std::int64_t rows = v.shape.elements() / v.shape[-1];
  const auto vector = [&](const char* name, double low, double high, OpInput::Role role) {
    return OpInput{.name = name,
                   .shape = channels,
                   .low = low,
                   .high = high,
                   .role = role,
                   .full_precision = true};
  };
  const auto leaf = OpInput::Role::gradient;
  const auto state = OpInput::Role::state;
  OpCase op;
  op.name = fmt::format("batch_norm {} {} residual {} mode {}",
                        v.shape,
                        name_of(v.activation),
                        static_cast<int>(v.residual),
                        static_cast<int>(v.mode));
  op.inputs = {{.name = "x", .shape = v.shape, .low = -1, .high = 2},
               vector("weight", 0.5, 1.5, leaf),
               vector("bias", -0.5, 0.5, leaf),
               vector("running_mean", -1, 1, state),
               vector("running_var", 0.5, 2, state)};
  if (v.residual == Residual::before || v.residual == Residual::after)
    op.inputs.push_back({.name = "residual", .shape = v.shape});
  op.call = [v](Tape& tape, std::span<const Var> in) {
    const Var residual = v.residual == Residual::none   ? Var{}
                         : v.residual == Residual::self ? in[0]
                                                        : in[5];
    return ops::batch_norm(
        in[0],
        in[1],
        in[2],
        in[3].value(),
        in[4].value(),
        residual,
        {.activation = v.activation, .residual_before_activation = v.residual == Residual::before},
        tape.mode());
  };
  op.reduction = rows;
  // xhat and the two means of the gradient are rounded one after the other.
  op.units = 8;
  op.inner_kinks = has_kinks(v.activation);
  op.mode = v.mode;
  return op;
}

}  // namespace

TEST_CASE("batch norm: every activation and place of the residual") {
  for (const NamedActivation& act : kActivations)
    for (const Residual residual :
         {Residual::none, Residual::before, Residual::after, Residual::self})
      for (const ForwardMode mode : {ForwardMode::train, ForwardMode::eval}) {
        test::test_op(batch_norm_case({{3, 2, 3, 4}, act.kind, residual, mode}));
        if (!test::testing_cuda()) continue;
        // Kernels without packs, and with packs of eight halves.
        test::test_op(batch_norm_case({{3, 2, 2, 3}, act.kind, residual, mode}));
        test::test_op(batch_norm_case({{2, 2, 2, 8}, act.kind, residual, mode}));
      }
}

// Unlike a leaf's gradient, that of a computed value may be dy's own memory.
TEST_CASE("batch norm: the gradient of a residual that was computed") {
  for (const Residual residual : {Residual::before, Residual::after}) {
    OpCase op = batch_norm_case({{3, 2, 3, 4}, ActivationKind::silu(), residual});
    op.name += " computed";
    op.call = [call = op.call](Tape& tape, std::span<const Var> in) {
      std::vector<Var> operands(in.begin(), in.end());
      operands[5] = ops::scale(in[5], 0.5);
      return call(tape, operands);
    };
    test::test_op(op);
  }
}

// One gradient of the residual is added to what the other norm has written; dx is overwritten.
TEST_CASE("batch norm: two that share their residual") {
  for (const ActivationKind& activation :
       {ActivationKind::relu(), ActivationKind::leaky_relu(), ActivationKind::silu()})
    for (const Shape& shape : {Shape{3, 2, 3, 4}, Shape{7, 530}}) {
      OpCase op = batch_norm_case({shape, activation, Residual::before});
      op.name += " shared residual";
      op.inputs.push_back({.name = "x of the second", .shape = shape, .low = -1, .high = 2});
      op.call = [call = op.call](Tape& tape, std::span<const Var> in) {
        std::vector<Var> second(in.begin(), in.end());
        second[0] = in[6];
        return ops::add(call(tape, in), call(tape, second));
      };
      test::test_op(op);
    }
}

// One of the two gradients is added to what the other norm has written, the other overwrites.
TEST_CASE("batch norm: two that share their weights, or their biases") {
  for (const std::size_t shared : {1U, 2U}) {
    OpCase op = batch_norm_case({{3, 2, 3, 4}, ActivationKind::silu()});
    op.name += fmt::format(" shared {}", op.inputs[shared].name);
    op.inputs.push_back(op.inputs[3 - shared]);
    op.inputs.back().name += " of the second";
    op.call = [shared, call = op.call](Tape& tape, std::span<const Var> in) {
      std::vector<Var> second(in.begin(), in.end());
      second[3 - shared] = in[5];
      return ops::add(call(tape, in), call(tape, second));
    };
    test::test_op(op);
  }
}

TEST_CASE("batch norm: few, odd and many channels, with and without a tail") {
  for (const Shape& shape : {Shape{7, 1},
                             Shape{5, 3},
                             Shape{2, 5, 5, 3},
                             Shape{4, 3, 3, 16},
                             Shape{2, 4, 4, 33},
                             Shape{3, 2, 2, 64},
                             Shape{2, 1, 2, 130},
                             Shape{6, 512}})
    test::test_op(batch_norm_case({shape, ActivationKind::leaky_relu(0.1F), Residual::before}));
}

// Smooth activations go strip by strip: a tail, and more lanes than one strip has (a channel with
// one row does not have statistics).
TEST_CASE("batch norm: smooth activations in several strips") {
  for (const ActivationKind& activation : {ActivationKind::gelu(), ActivationKind::silu()})
    for (const Residual residual : {Residual::none, Residual::before, Residual::after}) {
      test::test_op(batch_norm_case({{5, 33}, activation, residual}));
      test::test_op(batch_norm_case({{1, 520}, activation, residual, ForwardMode::eval}));
    }
}

TEST_CASE("batch norm: a large tensor in many chunks") {
  test::test_large_op(batch_norm_case({{9, 32, 32, 24}, ActivationKind::relu(), Residual::before}));
  // On a device: several blocks of rows, and of channels.
  test::test_large_op(batch_norm_case({{139, 264}, ActivationKind::gelu(), Residual::after}));
  test::test_large_op(batch_norm_case({{4, 33, 33, 8}, ActivationKind::silu(), Residual::before}));
}

TEST_CASE("batch norm: a mean a thousand deviations away costs few digits") {
  for (const double mean : {1e3, -3e4}) {
    CAPTURE(mean);
    Context ctx({.threads = 2});
    Tensor x = uniform(ctx.step(), {64, 8, 8, 5}, DType::f32, -1, 1, test::test_seed());
    set(x, 0, 100);  // an outlier where the statistics take their origin from
    for (std::int64_t i = 0; i < x.elements(); ++i) set(x, i, get(x, i) + mean);
    const auto forward = [&](Context& with, const Tensor& values, DType wide) {
      Tape on(with);
      Tensor var = full(with.step(), {5}, wide, 1);
      const Var y = ops::batch_norm(on.input(values),
                                    on.input(full(with.step(), {5}, wide, 1)),
                                    on.input(full(with.step(), {5}, wide, 0)),
                                    full(with.step(), {5}, wide, 0),
                                    var,
                                    {},
                                    {.momentum = 1},
                                    on.mode());
      return std::pair{y.value(), var};
    };
    std::vector<double> exact;
    for (std::int64_t i = 0; i < x.elements(); ++i) exact.push_back(get(x, i));
    const auto got = forward(ctx, x, DType::f32);
    const auto want =
        forward(ctx, from_values(ctx.step(), x.shape(), exact, DType::f64), DType::f64);
    // y = (x - mean) * rstd: the mean is kept in f32, half a unit in its last place off.
    const double allowed = 2 * std::abs(mean) * 0x1p-24 / 0.5;
    CHECK_MESSAGE(all_close(got.first, want.first, 1e-5, allowed).equal,
                  all_close(got.first, want.first, 1e-5, allowed).text);
    CHECK_MESSAGE(all_close(got.second, want.second, 1e-5, 0).equal,
                  all_close(got.second, want.second, 1e-5, 0).text);
  }
}

TEST_CASE("batch norm: in evaluation the gradient does not depend on x, which may be infinite") {
  for (const bool reference : {false, true}) {
    if (reference && test::testing_cuda()) continue;
    Context ctx(reference ? ContextOptions{.threads = 1, .reference = true}
                          : test::fast_context(1));
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const auto& activation : {ActivationKind::identity(), ActivationKind::relu()}) {
        CAPTURE(reference);
        CAPTURE(dtype);
        CAPTURE(std::string(name_of(activation)));
        const std::vector<double> values{INFINITY, 1, 2, NAN, -1, 1};
        Tape tape(ctx, {.mode = ForwardMode::eval});
        Tensor mean = test::put_values(ctx, {2}, {0.5, 0.25});
        Tensor var = test::put_values(ctx, {2}, {0.25, 1});
        const Var x = tape.input(test::put_values(ctx, {3, 2}, values, dtype), true);
        const Var y = ops::batch_norm(x,
                                      tape.input(test::put_values(ctx, {2}, {2, 4})),
                                      tape.input(test::put_values(ctx, {2}, {0, 0})),
                                      mean,
                                      var,
                                      {},
                                      {.eps = 0, .activation = activation},
                                      ForwardMode::eval);
        tape.backward(ops::sum(y));
        const Tensor dx = to_host(ctx, tape.grad_of(x));
        const bool linear = activation.name == ActivationKind::Name::identity;
        // weight / deviation, where relu's argument is not negative; torch passes NaN on, too.
        const std::vector<double> expected{4, 4, 4, 4, linear ? 4.0 : 0.0, 4};
        for (std::int64_t i = 0; i < 6; ++i) {
          CAPTURE(i);
          CHECK(get(dx, i) == expected[static_cast<std::size_t>(i)]);
        }
      }
  }
}

TEST_CASE("batch norm: operands that do not fit are named with both values") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const auto make = [&](const Shape& shape, DType dtype = DType::f32) {
    return tape.input(full(ctx.step(), shape, dtype, 1), true);
  };
  const auto run = [&](const Var& x, const Var& weight, const Var& residual = {}) {
    const Shape channels{x.shape().rank() == 0 ? 1 : x.shape()[-1]};
    return ops::batch_norm(x,
                           weight,
                           make(channels),
                           make(channels).value(),
                           make(channels).value(),
                           residual,
                           {},
                           tape.mode());
  };
  CHECK_THROWS_WITH_AS(run(make({2, 4, 4, 3}), make({4})), doctest::Contains("(4)"), ShapeError);
  CHECK_THROWS_WITH_AS(
      run(make({2, 3}), make({3}, DType::f16)), doctest::Contains("f16"), DTypeError);
  CHECK_THROWS_WITH_AS(run(make({2, 4, 4, 3}), make({3}), make({2, 4, 3, 3})),
                       doctest::Contains("(2,4,3,3)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(
      run(make({1, 3}), make({3})), doctest::Contains("more than one value"), Error);
  CHECK_THROWS_AS(run(make({}), make({1})), ShapeError);
  CHECK_THROWS_WITH_AS(
      run(make({2, 3}, DType::i64), make({3})), doctest::Contains("i64"), DTypeError);
}

TEST_CASE("batch norm: a value that another operation made may be its own residual") {
  OpCase op = batch_norm_case({{6, 3}, ActivationKind::silu(), Residual::self});
  op.call = [call = op.call](Tape& tape, std::span<const Var> in) {
    std::vector<Var> made(in.begin(), in.end());
    made[0] = ops::scale(in[0], 1.5);
    return call(tape, made);
  };
  const Comparison result = test::check_gradients(op);
  CHECK_MESSAGE(result.equal, result.text);
}
