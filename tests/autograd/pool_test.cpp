#include "framework/autograd/ops.h"
#include "framework/tensor/factory.h"
#include "tests/support/gradcheck.h"
#include "tests/support/op_case.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace learn;
using test::OpCase;

namespace {

std::string text_of(const Pool2dOptions& o) {
  return fmt::format("window {}x{} stride {}x{} pad {}x{} count_padding {}",
                     o.window_h,
                     o.window_w,
                     o.stride_h,
                     o.stride_w,
                     o.pad_h,
                     o.pad_w,
                     o.count_padding);
}

OpCase max_case(const Shape& shape, const Pool2dOptions& options) {
  return {.name = fmt::format("max_pool2d {} {}", shape, text_of(options)),
          .inputs = {{.name = "x", .shape = shape, .distinct = true}},
          .call = [=](Tape&, std::span<const Var> in) { return ops::max_pool2d(in[0], options); },
          .reduction = options.window_h * options.window_w};
}

OpCase avg_case(const Shape& shape, Pool2dOptions options, bool count_padding) {
  options.count_padding = count_padding;
  return {.name = fmt::format("avg_pool2d {} {}", shape, text_of(options)),
          .inputs = {{.name = "x", .shape = shape}},
          .call = [=](Tape&, std::span<const Var> in) { return ops::avg_pool2d(in[0], options); },
          .reduction = options.window_h * options.window_w};
}

struct Geometry {
  Shape shape;
  Pool2dOptions options;
};

const std::vector<Geometry>& geometries() {
  static const std::vector<Geometry> all{
      {{2, 4, 4, 3}, Pool2dOptions::square(2, 2)},
      {{2, 4, 6, 64}, Pool2dOptions::square(2, 2)},
      {{1, 5, 7, 5}, Pool2dOptions::square(2, 2)},      // a row and a column left over
      {{2, 7, 7, 4}, Pool2dOptions::square(3, 2, 1)},   // overlapping, as a ResNet's stem
      {{1, 5, 5, 70}, Pool2dOptions::square(3, 1, 1)},  // more than one block of channels
      {{2, 6, 6, 2}, Pool2dOptions::square(2, 3)},      // elements in no window
      {{1, 4, 4, 3}, Pool2dOptions::square(2, 2, 1)},   // 2x2 that hangs over the border
      // Nothing square.
      {{1, 6, 9, 3},
       {.window_h = 2, .window_w = 5, .stride_h = 1, .stride_w = 3, .pad_h = 1, .pad_w = 2}},
      {{3, 1, 1, 8}, Pool2dOptions::square(1, 1)},
  };
  return all;
}

double max_of(Context& ctx,
              const std::vector<double>& row,
              std::vector<double>* gradient = nullptr) {
  Tape tape(ctx);
  const auto n = static_cast<std::int64_t>(row.size());
  const Var x = tape.input(from_values(ctx.step(), {1, 1, n, 1}, row), true);
  const Var y = ops::global_max_pool(x);
  if (gradient != nullptr) {
    tape.backward(y);
    for (std::int64_t i = 0; i < n; ++i) gradient->push_back(get(tape.grad_of(x), i));
  }
  return get(y.value(), 0);
}

}  // namespace

TEST_CASE("max pool: every kind of window") {
  for (const Geometry& g : geometries()) test::test_op(max_case(g.shape, g.options));
}

TEST_CASE("average pool: every kind of window, padding counted or not") {
  for (const Geometry& g : geometries())
    for (const bool count : {true, false}) test::test_op(avg_case(g.shape, g.options, count));
}

TEST_CASE("global pools") {
  for (const Shape& shape : {Shape{3, 4, 4, 5}, Shape{2, 1, 1, 3}, Shape{1, 18, 17, 65}}) {
    OpCase average{
        .name = fmt::format("global_avg_pool {}", shape),
        .inputs = {{.name = "x", .shape = shape}},
        .call = [](Tape&, std::span<const Var> in) { return ops::global_avg_pool(in[0]); },
        .reduction = shape[1] * shape[2],
        .units = 4};
    test::test_op(average);
    OpCase maximum{
        .name = fmt::format("global_max_pool {}", shape),
        .inputs = {{.name = "x", .shape = shape, .distinct = true}},
        .call = [](Tape&, std::span<const Var> in) { return ops::global_max_pool(in[0]); },
        .reduction = 1};
    // More values than a half can tell apart: there the winner is a matter of rounding.
    if (shape.elements() < 1000)
      test::test_op(maximum);
    else
      CHECK_MESSAGE(test::check_gradients(maximum).equal, test::check_gradients(maximum).text);
  }
}

TEST_CASE("max pool: ties go to the first, NaN wins, infinities are numbers") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const bool reference : {false, true}) {
    CAPTURE(reference);
    Context ctx(test::guarded(1, reference));
    std::vector<double> gradient;
    CHECK(max_of(ctx, {1, 3, 3, 2, 3}, &gradient) == 3);
    CHECK(gradient == std::vector<double>{0, 1, 0, 0, 0});
    gradient.clear();
    CHECK(std::isnan(max_of(ctx, {1, NAN, 7, NAN, inf}, &gradient)));
    CHECK(gradient == std::vector<double>{0, 1, 0, 0, 0});
    CHECK(std::isnan(max_of(ctx, {NAN, 1})));
    CHECK(max_of(ctx, {-inf, -inf}) == -inf);
    gradient.clear();
    CHECK(max_of(ctx, {-inf, 5, inf}, &gradient) == inf);
    CHECK(gradient == std::vector<double>{0, 0, 1});
  }
}

TEST_CASE("max pool 2x2: ties and NaN in the special case for it") {
  Context ctx(test::guarded());
  Tape tape(ctx);
  // Four windows of one channel: tie of all, tie of the last two, NaN third, NaN first.
  const Var x = tape.input(from_values(ctx.step(),
                                       {1, 2, 8, 1},
                                       std::vector<double>{1,
                                                           1,
                                                           0,
                                                           1,
                                                           5,
                                                           6,
                                                           NAN,
                                                           9,  //
                                                           1,
                                                           1,
                                                           2,
                                                           2,
                                                           NAN,
                                                           7,
                                                           9,
                                                           9}),
                           true);
  const Var y = ops::max_pool2d(x, Pool2dOptions::square(2, 2));
  CHECK(get(y.value(), 0) == 1);
  CHECK(get(y.value(), 1) == 2);
  CHECK(std::isnan(get(y.value(), 2)));
  CHECK(std::isnan(get(y.value(), 3)));
  const Var sum = ops::global_avg_pool(y);
  tape.backward(sum);
  std::vector<double> winners;
  for (std::int64_t i = 0; i < 16; ++i) winners.push_back(get(tape.grad_of(x), i));
  CHECK(winners == std::vector<double>{0.25,
                                       0,
                                       0,
                                       0,
                                       0,
                                       0,
                                       0.25,
                                       0,  //
                                       0,
                                       0,
                                       0.25,
                                       0,
                                       0.25,
                                       0,
                                       0,
                                       0});
}

TEST_CASE("max pool: padding never wins") {
  Context ctx(test::guarded());
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.step(), {1, 3, 3, 2}, DType::f32, -5));
  const Var y = ops::max_pool2d(x, Pool2dOptions::square(3, 2, 1));
  for (const float value : y.value().span<float>()) CHECK(value == -5);
}

TEST_CASE("pools: windows that cannot be are named with their values") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var x = tape.input(full(ctx.step(), {1, 4, 4, 2}, DType::f32, 0));
  const auto run = [&](const Pool2dOptions& options) { (void)ops::max_pool2d(x, options); };
  CHECK_THROWS_WITH_AS(run(Pool2dOptions::square(5, 1)), doctest::Contains("window 5"), ShapeError);
  CHECK_THROWS_WITH_AS(run(Pool2dOptions::square(2, 0)), doctest::Contains("stride 0"), ShapeError);
  CHECK_THROWS_WITH_AS(run(Pool2dOptions::square(0, 1)), doctest::Contains("window 0"), ShapeError);
  CHECK_THROWS_WITH_AS(
      run(Pool2dOptions::square(3, 1, 2)), doctest::Contains("padding 2"), ShapeError);
  CHECK_THROWS_WITH_AS(
      run(Pool2dOptions::square(3, 1, -1)), doctest::Contains("padding -1"), ShapeError);
  CHECK_THROWS_AS((void)ops::global_avg_pool(tape.input(full(ctx.step(), {2, 3}, DType::f32, 0))),
                  ShapeError);
  CHECK_THROWS_AS((void)ops::avg_pool2d(tape.input(full(ctx.step(), {1, 4, 4, 2}, DType::i64, 0)),
                                        Pool2dOptions::square(2, 2)),
                  DTypeError);
}
