#include "framework/autograd/ops.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"
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

/// Makes operands like a layer's: v uniform around 0, lengths g of either sign.
OpCase weight_norm_case(const Shape& shape) {
  OpCase op;
  op.name = fmt::format("weight_norm {}", shape);
  op.inputs = {
      {.name = "v", .shape = shape},
      {.name = "g", .shape = {shape[0]}, .low = -0.5, .high = 1.5, .full_precision = true}};
  op.call = [](Tape&, std::span<const Var> in) { return ops::weight_norm(in[0], in[1]); };
  op.reduction = shape.elements() / shape[0];
  op.units = 4;  // the norm, its quotient and the difference are rounded one after the other
  return op;
}

}  // namespace

// Rows within a vector, of several, with a tail, and of more packs than a block has threads. Not of
// one element: its gradient is a difference of equals, of which rounding is all that is left.
TEST_CASE("weight norm: rows of linear layers and of convolutions") {
  for (const Shape& shape : {Shape{1, 2},
                             Shape{5, 3},
                             Shape{4, 8},
                             Shape{3, 3, 3, 3},
                             Shape{6, 1, 1, 16},
                             Shape{2, 67},
                             Shape{7, 3, 3, 8},
                             Shape{2, 5, 5, 6}})
    test::test_op(weight_norm_case(shape));
}

TEST_CASE("weight norm: the number and length of rows of a wide layer") {
  test::test_large_op(weight_norm_case({3, 5000}));
  test::test_large_op(weight_norm_case({130, 3, 3, 24}));
}

// One gradient overwrites, the other is added to what the first weight has written.
TEST_CASE("weight norm: two weights that share their directions, or their lengths") {
  for (const std::size_t shared : {0U, 1U}) {
    OpCase op = weight_norm_case({4, 9});
    op.name += fmt::format(" shared {}", op.inputs[shared].name);
    op.inputs.push_back(op.inputs[1 - shared]);
    op.inputs.back().name += " of the second";
    op.call = [shared](Tape&, std::span<const Var> in) {
      const Var second =
          shared == 0 ? ops::weight_norm(in[0], in[2]) : ops::weight_norm(in[2], in[1]);
      return ops::add(ops::weight_norm(in[0], in[1]), second);
    };
    test::test_op(op);
  }
}

// A frozen g or v: the kernel is given the other's destination alone.
TEST_CASE("weight norm: the gradient of lengths or directions alone") {
  for (const std::size_t constant : {0U, 1U}) {
    OpCase op = weight_norm_case({3, 10});
    op.name += fmt::format(" constant {}", op.inputs[constant].name);
    op.inputs[constant].role = test::OpInput::Role::constant;
    test::test_op(op);
  }
}

TEST_CASE("weight norm: each row has its length, whatever v's is") {
  Context ctx(test::fast_context(2));
  Tape tape(ctx);
  // In f16 the sum of squares, 4 * 300^2, would be infinite.
  const Tensor v = test::put_values(
      ctx, {3, 4}, {300, 300, 300, 300, 0.5, 0, 0, 0, 0, 0.001, 0.001, 0}, DType::f16);
  const Tensor g = test::put_values(ctx, {3}, {2, -3, 0});
  const Var w = ops::weight_norm(tape.input(v), tape.input(g));
  const Tensor expected =
      test::put_values(ctx, {3, 4}, {1, 1, 1, 1, -3, 0, 0, 0, 0, 0, 0, 0}, DType::f16);
  const Comparison result = all_close(to_host(ctx, w.value()), to_host(ctx, expected), 0, 0);
  CHECK_MESSAGE(result.equal, result.text);
}

// It has no direction, and a weight that silently were zero would never learn one.
TEST_CASE("weight norm: a row of zeros is NaN and leaves the others alone") {
  Context ctx(test::fast_context(2));
  Tape tape(ctx);
  const Var w = ops::weight_norm(tape.input(test::put_values(ctx, {2, 2}, {0, 0, 3, 4})),
                                 tape.input(test::put_values(ctx, {2}, {1, 10})));
  const Tensor got = to_host(ctx, w.value());
  CHECK(std::isnan(get(got, 0)));
  CHECK(std::isnan(get(got, 1)));
  CHECK(get(got, 2) == 6);
  CHECK(get(got, 3) == 8);
}
