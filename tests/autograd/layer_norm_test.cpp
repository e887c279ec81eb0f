#include "tests/golden/layer_norm.h"

#include "framework/autograd/ops.h"
#include "framework/nn/layers.h"
#include "tests/support/gradcheck.h"
#include "tests/support/on_device.h"
#include "tests/support/op_case.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <vector>

using namespace learn;
using test::OpCase;

namespace {

OpCase layer_norm_case(const Shape& shape) {
  OpCase op;
  const Shape columns{shape[-1]};
  op.name = fmt::format("layer_norm {}", shape);
  op.inputs = {
      {.name = "x", .shape = shape, .low = -1, .high = 2},
      {.name = "weight", .shape = columns, .low = 0.5, .high = 1.5, .full_precision = true},
      {.name = "bias", .shape = columns, .full_precision = true}};
  op.call = [](Tape&, std::span<const Var> in) { return ops::layer_norm(in[0], in[1], in[2]); };
  op.reduction = std::max(shape[-1], shape.elements() / shape[-1]);
  op.units = 4;  // deviation, its product with rstd, and with the weight are rounded
  return op;
}

OpCase rms_norm_case(const Shape& shape) {
  OpCase op = layer_norm_case(shape);
  op.name = fmt::format("rms_norm {}", shape);
  op.inputs.pop_back();
  op.call = [](Tape&, std::span<const Var> in) { return ops::rms_norm(in[0], in[1]); };
  return op;
}

}  // namespace

// Rows within a vector, of several, with a tail; images. Not of two or three values: a gradient
// has no component along the deviations, and little else than rounding is left.
TEST_CASE("layer norm: gradients, parity, determinism") {
  for (const Shape& shape : {Shape{5, 6},
                             Shape{7, 5},
                             Shape{4, 8},
                             Shape{2, 3, 2, 16},
                             Shape{2, 67},
                             Shape{70, 12},
                             Shape{5, 96}}) {
    test::test_op(layer_norm_case(shape));
    test::test_op(rms_norm_case(shape));
  }
}

TEST_CASE("layer norm: many rows, and long ones") {
  test::test_large_op(layer_norm_case({700, 96}));
  test::test_large_op(layer_norm_case({3, 5000}));
  test::test_large_op(rms_norm_case({700, 96}));
}

// A frozen operand: the kernel is given the destinations of the others.
TEST_CASE("layer norm: the gradients of some operands alone") {
  for (const std::size_t constant : {0U, 1U, 2U}) {
    OpCase op = layer_norm_case({3, 10});
    op.name += fmt::format(" constant {}", op.inputs[constant].name);
    op.inputs[constant].role = test::OpInput::Role::constant;
    test::test_op(op);
  }
  OpCase op = layer_norm_case({3, 10});
  op.name += " of x";
  for (const std::size_t i : {1U, 2U}) op.inputs[i].role = test::OpInput::Role::constant;
  test::test_op(op);
  for (const std::size_t constant : {0U, 1U}) {
    OpCase rms = rms_norm_case({3, 10});
    rms.name += fmt::format(" constant {}", rms.inputs[constant].name);
    rms.inputs[constant].role = test::OpInput::Role::constant;
    test::test_op(rms);
  }
}

TEST_CASE("layer norm and RMS norm have PyTorch's values and gradients") {
  using namespace test::golden;
  for (const DType dtype : {DType::f64, DType::f32}) {
    CAPTURE(dtype);
    Context ctx(dtype == DType::f64 ? ContextOptions{.threads = 1} : test::fast_context(2));
    if (dtype == DType::f64 && ctx.device().is_cuda()) continue;
    const auto on = [&](Tape& tape, const Shape& shape, const std::vector<double>& values) {
      return tape.input(test::put_values(ctx, shape, values, dtype), true);
    };
    Tape tape(ctx);
    const Var x = on(tape, {4, 7}, kLayerNormX);
    const Var weight = on(tape, {7}, kLayerNormWeight);
    const Var bias = on(tape, {7}, kLayerNormBias);
    const Var y = ops::layer_norm(x, weight, bias, static_cast<float>(kLayerNormEps));
    const Var dy = tape.input(test::put_values(ctx, {4, 7}, kLayerNormDy, dtype));
    tape.backward(ops::sum(ops::mul(y, dy)));
    // In f32 a row around 50 keeps 3e-6 of its deviations, and rstd of equal values is 32.
    const double allowed = dtype == DType::f64 ? 1e-12 : 1e-4;
    const auto agrees = [&](const Tensor& got, const std::vector<double>& expected) {
      for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(test::fetch(ctx, got, static_cast<std::int64_t>(i)) ==
              doctest::Approx(expected[i]).epsilon(allowed));
    };
    agrees(y.value(), kLayerNormY);
    agrees(tape.grad_of(x), kLayerNormDx);
    agrees(tape.grad_of(weight), kLayerNormDweight);
    agrees(tape.grad_of(bias), kLayerNormDbias);
    Tape second(ctx);
    const Var rms_x = on(second, {4, 7}, kLayerNormX);
    const Var rms_weight = on(second, {7}, kLayerNormWeight);
    const Var rms_y = ops::rms_norm(rms_x, rms_weight, static_cast<float>(kLayerNormEps));
    second.backward(ops::sum(ops::mul(rms_y, on(second, {4, 7}, kLayerNormDy))));
    agrees(rms_y.value(), kLayerNormRmsY);
    agrees(second.grad_of(rms_x), kLayerNormRmsDx);
    agrees(second.grad_of(rms_weight), kLayerNormRmsDweight);
  }
}

TEST_CASE("layer norm of an empty batch has gradients of zero") {
  Context ctx(test::fast_context(1));
  Tape tape(ctx);
  const Var x = tape.input(test::put_values(ctx, {0, 3}, {}), true);
  const Var weight = tape.input(test::put_values(ctx, {3}, {1, 2, 3}), true);
  const Var bias = tape.input(test::put_values(ctx, {3}, {1, 2, 3}), true);
  tape.backward(ops::sum(ops::layer_norm(x, weight, bias)));
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(test::fetch(ctx, tape.grad_of(weight), i) == 0);
    CHECK(test::fetch(ctx, tape.grad_of(bias), i) == 0);
  }
}

TEST_CASE("layer norm refuses rows without values") {
  Context ctx(test::fast_context(1));
  Tape tape(ctx);
  const Var none = tape.input(test::put_values(ctx, {2, 0}, {}));
  const Var columns = tape.input(test::put_values(ctx, {0}, {}));
  CHECK_THROWS_WITH_AS((void)ops::layer_norm(none, columns, columns),
                       doctest::Contains("at least one value per row, not (2,0)"),
                       ShapeError);
}
