#include "framework/autograd/ops.h"
#include "framework/core/random.h"
#include "framework/tensor/factory.h"
#include "tests/support/gradcheck.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace learn;
using learn::test::OpCase;
using learn::test::test_large_op;
using learn::test::test_op;

namespace {

using Vars = std::span<const Var>;

/// Small enough for differences, and one that spans several chunks with a ragged end.
const std::vector<Shape> kSmall = {{2, 3, 5}, {1}, {7, 16}};
const Shape kLarge{3, 7001};

OpCase binary(const char* name, const Shape& shape, Var (*op)(const Var&, const Var&)) {
  return {.name = name,
          .inputs = {{.name = "a", .shape = shape}, {.name = "b", .shape = shape}},
          .call = [op](Tape&, Vars in) { return op(in[0], in[1]); }};
}

template <class Op>
OpCase unary(const char* name, const Shape& shape, Op op) {
  return {.name = name, .inputs = {{.name = "x", .shape = shape}}, .call = [op](Tape&, Vars in) {
            return op(in[0]);
          }};
}

OpCase bias_case(const Shape& shape) {
  const std::int64_t channels = shape[-1];
  return {.name = "add_bias",
          .inputs = {{.name = "x", .shape = shape}, {.name = "bias", .shape = {channels}}},
          .call = [](Tape&, Vars in) { return ops::add_bias(in[0], in[1]); },
          .reduction = shape.elements() / channels};
}

OpCase concat_case(const std::vector<Shape>& shapes, int axis) {
  OpCase op{.name = "concat", .call = [axis](Tape&, Vars in) { return ops::concat(in, axis); }};
  for (const Shape& shape : shapes) op.inputs.push_back({.name = "part", .shape = shape});
  return op;
}

}  // namespace

TEST_CASE("add, mul, scale: gradients, parity, determinism") {
  for (const Shape& shape : kSmall) {
    test_op(binary("add", shape, ops::add));
    test_op(binary("mul", shape, ops::mul));
    test_op(unary("scale", shape, [](const Var& x) { return ops::scale(x, -1.7); }));
  }
  test_large_op(binary("add", kLarge, ops::add));
  test_large_op(binary("mul", kLarge, ops::mul));
  test_large_op(unary("scale", kLarge, [](const Var& x) { return ops::scale(x, 0.3); }));
}

TEST_CASE("an operand used twice gets both gradients") {
  test_op(unary("x + x", {3, 4}, [](const Var& x) { return x + x; }));
  test_op(unary("mul x * x", {3, 4}, [](const Var& x) { return ops::mul(x, x); }));
  test_op(unary("concat(x, x)", {3, 4}, [](const Var& x) {
    const Var parts[] = {x, x};
    return ops::concat(parts, 1);
  }));
}

TEST_CASE("add_bias: gradients, parity, determinism") {
  for (const Shape& shape : {Shape{4, 3}, Shape{2, 3, 2, 5}, Shape{1, 17}, Shape{5, 1}})
    test_op(bias_case(shape));
  test_large_op(bias_case({4099, 7}));
  test_large_op(bias_case({64, 1000}));
  test_large_op(bias_case({301, 104}));
}

TEST_CASE("cast: the same bits every time, and the gradient comes back in the input's dtype") {
  for (const DType to : {DType::f32, DType::f16, DType::bf16}) {
    const OpCase op = unary("cast", {5, 7}, [to](const Var& x) { return ops::cast(x, to); });
    const auto same = test::check_determinism(op);
    CHECK_MESSAGE(same.equal, same.text);
  }
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.step(), {3}, DType::f32, 1.0005), true);
  const Var half = ops::cast(x, DType::f16);
  CHECK(half.dtype() == DType::f16);
  CHECK(get(half.value(), 0) == 1.0009765625);
  CHECK(ops::cast(half, DType::f16).value().same_memory(half.value()));
  tape.backward(ops::sum(half));
  CHECK(tape.grad_of(x).dtype() == DType::f32);
  CHECK(get(tape.grad_of(x), 2) == 1);
}

TEST_CASE("reshape and flatten: no copy, the gradient takes the old shape") {
  test_op(unary("reshape", {2, 3, 4}, [](const Var& x) { return ops::reshape(x, {4, 6}); }));
  test_op(unary("flatten", {2, 3, 4}, [](const Var& x) { return ops::flatten(x); }));
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.step(), {2, 3, 4}, DType::f32, 1), true);
  const Var flat = ops::flatten(x);
  CHECK(flat.shape() == Shape{2, 12});
  CHECK(flat.value().same_memory(x.value()));
  CHECK_THROWS_WITH_AS((void)ops::reshape(x, {5, 5}), doctest::Contains("(5,5)"), ShapeError);
  const Var scalar = x.tape().input(full(x.tape().context().step(), {}, DType::f32, 1));
  CHECK_THROWS_WITH_AS((void)ops::flatten(scalar),
                       doctest::Contains("flatten: a scalar has no batch dimension"),
                       ShapeError);
  const Var none = x.tape().input(full(x.tape().context().step(), {0, 3}, DType::f32, 1));
  CHECK_THROWS_WITH_AS(
      (void)ops::mean(none), doctest::Contains("mean: shape (0,3) has no elements"), ShapeError);
}

TEST_CASE("concat: every axis, parts of different size") {
  test_op(concat_case({{2, 3}, {1, 3}, {4, 3}}, 0));
  test_op(concat_case({{2, 3}, {2, 1}, {2, 5}}, 1));
  test_op(concat_case({{2, 3, 4}, {2, 2, 4}}, -2));
  test_op(concat_case({{2, 3, 2, 4}, {2, 3, 2, 1}}, -1));
  test_op(concat_case({{3, 2}}, 1));
  test_large_op(concat_case({{64, 8, 8, 24}, {64, 8, 8, 3}}, 3));
}

TEST_CASE("concat: misuse says what does not fit") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var a = tape.input(full(ctx.step(), {2, 3}, DType::f32, 1));
  const Var b = tape.input(full(ctx.step(), {3, 3}, DType::f32, 1));
  const Var c = tape.input(full(ctx.step(), {2, 3}, DType::f16, 1));
  const Var unequal[] = {a, b};
  const Var mixed[] = {a, c};
  CHECK_THROWS_WITH_AS((void)ops::concat(unequal, 1), doctest::Contains("(3,3)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::concat(mixed, 1), doctest::Contains("f16"), DTypeError);
  CHECK_THROWS_AS((void)ops::concat(unequal, 2), UsageError);
  CHECK_THROWS_AS((void)ops::concat({}, 0), UsageError);
}

TEST_CASE("dropout: gradients, parity, determinism") {
  for (const double p : {0.1, 0.5, 0.9}) {
    OpCase op = unary("dropout", {6, 9}, [p](const Var& x) { return ops::dropout(x, p); });
    op.units = 4;  // 1 / (1 - p) is rounded before it multiplies
    test_op(op);
  }
  test_large_op(unary("dropout", kLarge, [](const Var& x) { return ops::dropout(x, 0.3); }));
}

TEST_CASE("dropout: the mask is a function of seed, batch, stream and element") {
  constexpr std::int64_t kElements = 100000;
  constexpr double kP = 0.3;
  const auto run = [&](std::uint64_t seed, std::uint64_t batch, int which) {
    Context ctx({.threads = 2, .seed = seed});
    Tape tape(ctx, {.batch = batch});
    const Var x = tape.input(full(ctx.step(), {kElements}, DType::f32, 1));
    Var y = ops::dropout(x, kP);
    for (int i = 0; i < which; ++i) y = ops::dropout(x, kP);
    std::vector<float> out(y.value().span<float>().begin(), y.value().span<float>().end());
    return out;
  };
  const std::vector<float> first = run(42, 7, 0);
  CHECK(first == run(42, 7, 0));
  CHECK(first != run(43, 7, 0));
  CHECK(first != run(42, 8, 0));
  const std::vector<float> second = run(42, 7, 1);
  CHECK(first != second);
  std::int64_t kept = 0;
  std::int64_t wrong = 0;
  for (std::uint64_t i = 0; i < kElements; ++i) {
    const std::uint64_t element = (std::uint64_t{1} << 40U) + i;
    const Random4 r = random4(42, RandomPurpose::dropout, 7, element);
    const float expected = static_cast<double>(uniform01(r.v[0])) < kP ? 0.0F : 1 / 0.7F;
    wrong += second[i] != expected;
    kept += second[i] != 0;
  }
  CHECK(wrong == 0);
  // Binomial: five standard deviations of sqrt(n p (1 - p)) = 145.
  CHECK(std::abs(static_cast<double>(kept) - 0.7 * kElements) < 5 * 145);
}

TEST_CASE("dropout: a tape that was reset numbers its dropouts from 0 again") {
  Context ctx({.threads = 1});
  Tape tape(ctx, {.batch = 7});
  const auto dropped = [&] {
    const Tensor y = ops::dropout(tape.input(full(ctx.step(), {1000}, DType::f32, 1)), 0.5).value();
    return std::vector<float>(y.span<float>().begin(), y.span<float>().end());
  };
  const std::vector<float> first = dropped();
  const std::vector<float> second = dropped();
  CHECK(first != second);
  tape.reset({.batch = 7});
  CHECK(dropped() == first);
  CHECK(dropped() == second);
}

TEST_CASE("dropout: nothing in eval mode or for p = 0, and a bad p says so") {
  Context ctx({.threads = 1});
  Tape eval(ctx, {.mode = ForwardMode::eval});
  const Var x = eval.input(full(ctx.step(), {4}, DType::f32, 1));
  CHECK(ops::dropout(x, 0.5).value().same_memory(x.value()));
  Tape train(ctx);
  const Var z = train.input(full(ctx.step(), {4}, DType::f32, 1));
  CHECK(ops::dropout(z, 0).value().same_memory(z.value()));
  for (const double p : {-0.1, 1.0, std::nan("")})
    CHECK_THROWS_WITH_AS((void)ops::dropout(z, p), doctest::Contains("[0, 1)"), UsageError);
}

TEST_CASE("sum and mean: gradients, parity, determinism") {
  for (const Shape& shape : kSmall) {
    OpCase sum = unary("sum", shape, [](const Var& x) { return ops::sum(x); });
    sum.reduction = shape.elements();
    test_op(sum);
    OpCase mean = unary("mean", shape, [](const Var& x) { return ops::mean(x); });
    mean.reduction = shape.elements();
    test_op(mean);
  }
  for (const Shape& shape : {kLarge, Shape{1 << 21}}) {
    OpCase sum = unary("sum", shape, [](const Var& x) { return ops::sum(x); });
    sum.inputs[0].low = 0;  // all of one sign: the rounding of a large total shows
    sum.reduction = shape.elements();
    test_large_op(sum);
  }
}

TEST_CASE("operands that do not fit are named with both values") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var a = tape.input(full(ctx.step(), {2, 3}, DType::f32, 1));
  const Var b = tape.input(full(ctx.step(), {3, 2}, DType::f32, 1));
  const Var h = tape.input(full(ctx.step(), {2, 3}, DType::bf16, 1));
  CHECK_THROWS_WITH_AS((void)(a + b), doctest::Contains("(2,3) and (3,2)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::mul(a, h), doctest::Contains("f32 and bf16"), DTypeError);
  CHECK_THROWS_WITH_AS((void)ops::add_bias(a, b), doctest::Contains("(3,2)"), ShapeError);
}
