#include "framework/kernels/conv/conv.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/kernels/common/bias.h"
#include "framework/kernels/conv/cpu/conv_winograd.h"
#include "framework/kernels/product/linear.h"
#include "framework/tensor/factory.h"
#include "tests/autograd/conv_values.h"
#include "tests/support/compare.h"
#include "tests/support/gradcheck.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>

using namespace learn;
using learn::test::OpCase;

namespace {

struct ConvCase {
  Shape x, w;
  Conv2dOptions options;
  bool bias = false;
};

OpCase conv_case(const ConvCase& c) {
  const ConvGeometry g = kernels::conv2d_geometry(c.x, c.w, c.options);
  const Conv2dOptions options = c.options;
  OpCase op{
      .name = fmt::format("conv2d {}{}", test::text_of(g), c.bias ? " bias" : ""),
      .inputs = {{.name = "x", .shape = c.x}, {.name = "w", .shape = c.w}},
      .call =
          [options](Tape&, std::span<const Var> in) {
            return ops::conv2d(in[0], in[1], in.size() > 2 ? in[2] : Var(), options);
          },
      // The longest sum: taps and channels, forward or backward, or the pixels of a weight.
      .reduction = std::max({g.r * g.s * g.group_c(), g.r * g.s * g.group_k(), g.n * g.p * g.q}),
      // Each product is rounded or fused, and each sum: three roundings where one is counted.
      // Winograd's transforms add more (see winograd_test.cpp).
      .units = cpu::winograd_variant(cpu::simd::best_kernels(), g) != nullptr ? 12.0 : 4.0};
  if (c.bias) op.inputs.push_back({.name = "bias", .shape = {g.k}});
  return op;
}

constexpr Conv2dOptions square(std::int64_t stride, std::int64_t pad, std::int64_t groups = 1) {
  return Conv2dOptions::symmetric(stride, pad, groups);
}

}  // namespace

TEST_CASE("conv2d: small windows and odd channels") {
  test::test_op(conv_case({{2, 5, 6, 3}, {4, 3, 3, 3}, square(1, 1)}));
  test::test_op(conv_case({{2, 4, 4, 5}, {7, 1, 1, 5}, square(1, 0)}));
  test::test_op(conv_case({{1, 7, 6, 2}, {3, 5, 5, 2}, square(1, 2)}));
  test::test_op(conv_case({{3, 6, 5, 3}, {33, 2, 3, 3}, square(1, 0), true}));
}

TEST_CASE("conv2d: strides, with pixels that no window reads") {
  test::test_op(conv_case({{2, 8, 8, 4}, {6, 3, 3, 4}, square(2, 1)}));
  test::test_op(conv_case({{2, 7, 9, 4}, {5, 3, 3, 4}, square(3, 0)}));
  test::test_op(conv_case({{2, 6, 6, 3}, {5, 1, 1, 3}, square(2, 0), true}));
  test::test_op(conv_case(
      {{1, 9, 7, 2}, {3, 3, 2, 2}, {.stride_h = 2, .stride_w = 3, .pad_top = 1, .pad_right = 1}}));
}

TEST_CASE("conv2d: padding that differs on all sides, or exceeds the window") {
  test::test_op(conv_case({{2, 5, 4, 3}, {4, 3, 3, 3}, {.pad_bottom = 2, .pad_left = 1}, true}));
  test::test_op(
      conv_case({{1, 3, 3, 2},
                 {3, 2, 2, 2},
                 {.stride_w = 2, .pad_top = 3, .pad_bottom = 1, .pad_left = 2, .pad_right = 4}}));
}

TEST_CASE("conv2d: maps of one and two pixels") {
  test::test_op(conv_case({{5, 1, 1, 8}, {9, 3, 3, 8}, square(1, 1)}));
  test::test_op(conv_case({{5, 2, 2, 8}, {9, 3, 3, 8}, square(1, 1)}));
}

TEST_CASE("conv2d: one image on a small map, with a border of zeros") {
  test::test_op(conv_case({{1, 4, 4, 5}, {7, 3, 3, 5}, square(1, 1), true}));
  test::test_op(conv_case({{1, 2, 2, 8}, {33, 3, 3, 8}, square(1, 1)}));
  test::test_op(conv_case({{1, 8, 8, 4}, {6, 3, 3, 4}, square(2, 1)}));
  test::test_op(conv_case({{1, 4, 4, 6}, {4, 3, 3, 3}, square(1, 1, 2)}));
  // Pixels that no window reads, on the right and below; a border wider than the window.
  test::test_op(conv_case(
      {{1, 6, 6, 2}, {3, 2, 2, 2}, {.stride_h = 2, .stride_w = 2, .pad_top = 1, .pad_left = 1}}));
  test::test_op(conv_case(
      {{1, 2, 3, 2}, {3, 2, 2, 2}, {.stride_w = 2, .pad_top = 2, .pad_left = 3, .pad_right = 1}}));
  // Results whose whole window is in the padding.
  test::test_op(conv_case(
      {{1, 2, 2, 2}, {3, 1, 1, 2}, {.stride_w = 6, .pad_left = 2, .pad_right = 2}, true}));
}

TEST_CASE("conv2d: few results, whose weights are read where they lie") {
  test::test_op(conv_case({{1, 3, 3, 16}, {5, 3, 3, 16}, square(1, 1), true}));
  test::test_op(conv_case({{2, 2, 2, 16}, {4, 1, 1, 16}, square(1, 0)}));
}

TEST_CASE("conv2d: groups and depthwise") {
  test::test_op(conv_case({{2, 5, 5, 6}, {4, 3, 3, 3}, square(1, 1, 2), true}));
  test::test_op(conv_case({{2, 6, 6, 5}, {5, 3, 3, 1}, square(2, 1, 5)}));
  test::test_op(conv_case({{2, 4, 4, 3}, {6, 3, 3, 1}, square(1, 1, 3)}));
  test::test_op(conv_case({{2, 5, 4, 12}, {12, 3, 3, 4}, square(1, 1, 3), true}));
  test::test_op(conv_case({{1, 6, 5, 18}, {18, 5, 5, 1}, square(2, 2, 18), true}));
}

TEST_CASE("conv2d: sizes that fill whole blocks and panels") {
  for (const OpCase& op : {conv_case({{4, 8, 8, 32}, {64, 3, 3, 32}, square(1, 1)}),
                           conv_case({{3, 4, 4, 80}, {48, 3, 3, 80}, square(2, 1)}),
                           conv_case({{17, 2, 2, 64}, {96, 3, 3, 64}, square(1, 1), true}),
                           conv_case({{1, 32, 32, 3}, {16, 3, 3, 3}, square(1, 1)}),
                           conv_case({{2, 28, 28, 72}, {72, 3, 3, 1}, square(1, 1, 72), true}),
                           conv_case({{2, 14, 14, 64}, {64, 3, 3, 8}, square(2, 1, 8)}),
                           conv_case({{2, 16, 16, 300}, {20, 1, 1, 300}, square(1, 0)})})
    test::test_large_op(op);
}

TEST_CASE("linear: gradients, parity and determinism") {
  for (const auto& [n, c, k] :
       {std::array{1, 1, 1}, {3, 7, 5}, {20, 70, 10}, {2, 33, 65}, {3, 32, 7}}) {
    for (const bool bias : {false, true}) {
      OpCase op{.name = fmt::format("linear {}x{} -> {}{}", n, c, k, bias ? " bias" : ""),
                .inputs = {{.name = "x", .shape = {n, c}}, {.name = "w", .shape = {k, c}}},
                .call =
                    [](Tape&, std::span<const Var> in) {
                      return ops::linear(in[0], in[1], in.size() > 2 ? in[2] : Var());
                    },
                .reduction = std::max({n, c, k}),
                .units = 4};
      if (bias) op.inputs.push_back({.name = "bias", .shape = {k}});
      test::test_op(op);
    }
  }
}

namespace {

/// x with zeros after its channels.
Tensor with_zeros(Arena& host, const Tensor& x, std::int64_t padding) {
  const Shape& s = x.shape();
  const std::int64_t width = s[3] + padding;
  Tensor padded = zeros(host, {s[0], s[1], s[2], width}, x.dtype());
  for (std::int64_t i = 0; i < x.elements(); ++i)
    set(padded, i / s[3] * width + i % s[3], get(x, i));
  return padded;
}

/// A convolution's result and the gradient of its weight, on the host.
std::array<Tensor, 2> convolve(Context& ctx,
                               const Tensor& x,
                               std::int64_t padding,
                               const Tensor& w,
                               const Conv2dOptions& options) {
  Tape tape(ctx);
  const Var input = tape.padded_input(test::put(ctx, x), padding);
  const Var weight = tape.input(test::put(ctx, w), true);
  const Var y = ops::conv2d(input, weight, {}, options);
  tape.backward(ops::sum(ops::mul(y, y)));
  return {to_host(ctx, y.value()), to_host(ctx, tape.grad_of(weight))};
}

}  // namespace

TEST_CASE("conv2d: padding after the channels of x changes no bit") {
  Arena& host = test::host_values();
  for (const bool reference : {false, true}) {
    if (reference && test::testing_cuda()) continue;
    Context ctx(reference ? ContextOptions{.threads = 1, .reference = true}
                          : test::fast_context(2));
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const std::int64_t groups : {1, 3})
        for (const std::int64_t padding : {1, 5, 13}) {
          CAPTURE(padding);
          const Tensor x = uniform(host, {2, 6, 5, 3}, dtype, -1, 1, 11);
          const Tensor w = uniform(host, {9, 3, 3, 3 / groups}, dtype, -1, 1, 12);
          const auto plain = convolve(ctx, x, 0, w, square(1, 1, groups));
          const auto padded =
              convolve(ctx, with_zeros(host, x, padding), padding, w, square(1, 1, groups));
          for (std::size_t i = 0; i < plain.size(); ++i) CHECK(same_bits(plain[i], padded[i]));
        }
  }
  Context ctx(test::fast_context(1));
  Tape tape(ctx);
  const Tensor x = test::put_full(ctx, {1, 2, 2, 8}, DType::f32, 0);
  const Var w = tape.input(test::put_full(ctx, {4, 1, 1, 3}, DType::f32, 0));
  CHECK_THROWS_WITH_AS(
      (void)tape.padded_input(x, 8), doctest::Contains("does not fit (1,2,2,8)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::conv2d(tape.padded_input(x, 4), w, {}, square(1, 0)),
                       doctest::Contains("input has 4 channels, weight expects 3"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::conv2d(tape.input(x), w, {}, square(1, 0)),
                       doctest::Contains("input has 8 channels, weight expects 3"),
                       ShapeError);
}

TEST_CASE("conv2d and linear: an empty batch has an empty result and zero weight gradients") {
  for (const bool reference : {false, true}) {
    Context ctx(test::guarded(2, reference));
    const Tensor x(ctx.step(), {0, 4, 4, 3}, DType::f32);
    const Tensor dy(ctx.step(), {0, 4, 4, 2}, DType::f32);
    Tensor y = dy;
    Tensor w = uniform(ctx.step(), {2, 3, 3, 3}, DType::f32, -1, 1, 7);
    kernels::conv2d_forward(ctx, x, w, {}, y, square(1, 1));
    Tensor dw = uniform(ctx.step(), w.shape(), DType::f32, -1, 1, 8);
    const Tensor before = full(ctx.step(), {2}, DType::f32, 3);
    Tensor db = before;
    kernels::conv2d_backward_weight(ctx, x, dy, dw, square(1, 1), GradMode::overwrite);
    CHECK(all_close(dw, zeros(ctx.step(), w.shape(), DType::f32), 0, 0).equal);
    kernels::bias_backward(ctx, dy, db, GradMode::accumulate);
    CHECK(get(db, 1) == 3);
    kernels::bias_backward(ctx, dy, db, GradMode::overwrite);
    CHECK(get(db, 1) == 0);
  }
}

TEST_CASE("linear and conv2d: no inputs add up to the bias and no outputs have no gradient") {
  for (const bool reference : {false, true})
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const std::int64_t n : {3, 40}) {
        CAPTURE(reference);
        CAPTURE(dtype);
        CAPTURE(n);
        Context ctx(test::guarded(2, reference));
        const auto filled = [&](const Shape& shape, float value) {
          return full(ctx.step(), shape, dtype, value);
        };
        const auto all_are = [&](const Tensor& x, float value) {
          return all_close(x, filled(x.shape(), value), 0, 0).equal;
        };
        Tensor y = filled({n, 2}, 7);
        Tensor nothing = filled({n, 0}, 7);
        Tensor no_weights = filled({2, 0}, 7);
        kernels::linear_forward(ctx, nothing, no_weights, filled({2}, 3), y);
        CHECK(all_are(y, 3));
        kernels::linear_backward_data(ctx, y, no_weights, nothing, GradMode::overwrite);
        kernels::linear_backward_weight(ctx, nothing, y, no_weights, GradMode::overwrite);

        Tensor dx = filled({n, 16}, 7);
        no_weights = filled({0, 16}, 7);
        kernels::linear_forward(ctx, dx, no_weights, {}, nothing);
        kernels::linear_backward_weight(ctx, dx, nothing, no_weights, GradMode::overwrite);
        kernels::linear_backward_data(ctx, nothing, no_weights, dx, GradMode::accumulate);
        CHECK(all_are(dx, 7));
        kernels::linear_backward_data(ctx, nothing, no_weights, dx, GradMode::overwrite);
        CHECK(all_are(dx, 0));

        Tensor image = filled({1, n, n, 16}, 7);
        no_weights = filled({0, 3, 3, 16}, 7);
        const Tensor no_image = filled({1, n, n, 0}, 7);
        kernels::conv2d_backward_data(
            ctx, no_image, no_weights, image, square(1, 1), GradMode::overwrite);
        CHECK(all_are(image, 0));
        kernels::conv2d_backward_weight(
            ctx, image, no_image, no_weights, square(1, 1), GradMode::overwrite);

        Tensor several = filled({2, n, 2}, 7);
        kernels::linear_forward(ctx, filled({2, n, 0}, 7), filled({2, 2, 0}, 7), {}, several);
        CHECK(all_are(several, 0));
      }
}

namespace {

/// One of several: number `i` of x (B,...), with a first dimension only where it is given alone.
Tensor one_of(const Tensor& all, std::int64_t i) {
  const Shape& shape = all.shape();
  return all.rows(i, 1).view({shape[1], shape[2]});
}

/// The three passes of `b` linear layers, all at once or each by itself, added to what is there.
std::array<Tensor, 3> linear_passes(
    Context& ctx, DType dtype, std::int64_t b, const ConvGeometry& g, bool at_once) {
  const Tensor x = test::put_uniform(ctx, {b, g.n, g.c}, dtype, -1, 1, 1);
  const Tensor w = test::put_uniform(ctx, {b, g.k, g.c}, dtype, -1, 1, 2);
  const Tensor dy = test::put_uniform(ctx, {b, g.n, g.k}, dtype, -1, 1, 3);
  Tensor y = test::put_full(ctx, dy.shape(), dtype, 7);
  Tensor dx = test::put_full(ctx, x.shape(), dtype, 0.5);
  Tensor dw = test::put_full(ctx, w.shape(), dtype, 0.25);
  const auto passes = [&](const auto& part) {
    Tensor y_part = part(y), dx_part = part(dx), dw_part = part(dw);
    kernels::linear_forward(ctx, part(x), part(w), {}, y_part);
    kernels::linear_backward_data(ctx, part(dy), part(w), dx_part, GradMode::accumulate);
    kernels::linear_backward_weight(ctx, part(x), part(dy), dw_part, GradMode::accumulate);
  };
  if (at_once)
    passes([](const Tensor& all) { return all; });
  else
    for (std::int64_t i = 0; i < b; ++i) passes([i](const Tensor& all) { return one_of(all, i); });
  return {to_host(ctx, y), to_host(ctx, dx), to_host(ctx, dw)};
}

}  // namespace

TEST_CASE("linear: a batched product equals the single ones") {
  struct Case {
    std::int64_t b;
    ConvGeometry g;
  };
  const bool on_cuda = test::testing_cuda();
  // A library may choose another algorithm: two units in the last place of sums from 4 to 8.
  const auto allowed = [](DType dtype) {
    return dtype == DType::f32 ? 0x1p-20 : dtype == DType::f16 ? 0x1p-7 : 0x1p-4;
  };
  // Sizes that a library for GPUs takes in one call, one by one, and with padding; and products
  // that all threads share.
  std::vector<Case> cases{{0, {.n = 3, .c = 8, .k = 8}},
                          {1, {.n = 3, .c = 8, .k = 16}},
                          {5, {.n = 6, .c = 8, .k = 16}},
                          {3, {.n = 3, .c = 8, .k = 8}},
                          {4, {.n = 5, .c = 3, .k = 7}},
                          {2, {.n = 3, .c = 4, .k = 3}},
                          {2, {.n = 3, .c = 3, .k = 4}},
                          {2, {.n = 4, .c = 3, .k = 3}}};
  if (!on_cuda) cases.push_back({3, {.n = 130, .c = 260, .k = 131}});
  for (const int threads : {1, 3})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const Case& one : cases) {
        CAPTURE(threads);
        CAPTURE(name_of(dtype));
        CAPTURE(one.g.n);
        Context ctx(test::fast_context(threads));
        const auto together = linear_passes(ctx, dtype, one.b, one.g, true);
        const auto alone = linear_passes(ctx, dtype, one.b, one.g, false);
        for (std::size_t i = 0; i < together.size(); ++i)
          CHECK((on_cuda ? all_close(together[i], alone[i], 0, allowed(dtype))
                         : same_bits(together[i], alone[i])));
      }
}

TEST_CASE("conv2d and linear: errors name both values") {
  Context ctx(test::guarded());
  Tape tape(ctx);
  const auto var = [&](const Shape& shape, DType dtype = DType::f32) {
    return tape.input(zeros(ctx.step(), shape, dtype), true);
  };
  const Var x = var({2, 4, 4, 3});
  const Var w = var({8, 3, 3, 64});
  CHECK_THROWS_WITH_AS((void)ops::conv2d(x, w, {}, square(1, 1)),
                       doctest::Contains("conv2d: input has 3 channels, weight expects 64"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::conv2d(x, var({8, 7, 7, 3}), {}, square(1, 1)),
                       doctest::Contains("a 7x7 window does not fit a 4x4 input"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::conv2d(x, var({8, 3, 3, 3}), var({9}), square(1, 1)),
                       doctest::Contains("bias has shape (9), must have (8)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::conv2d(x, var({8, 3, 3, 3}, DType::f16), {}, square(1, 1)),
                       doctest::Contains("dtypes differ: f32 and f16"),
                       DTypeError);
  CHECK_THROWS_WITH_AS((void)ops::conv2d(x, var({8, 3, 3, 1}), {}, square(1, 1, 2)),
                       doctest::Contains("2 groups"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::conv2d(x, var({8, 3, 3, 3}), {}, square(0, 1)),
                       doctest::Contains("strides must be at least 1"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(
      (void)ops::conv2d(var({2, 3}), w, {}, square(1, 1)), doctest::Contains("(2,3)"), ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::linear(var({2, 3, 1}), var({5, 3}), {}),
                       doctest::Contains("linear: the input must be (N,C), not (2,3,1)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::linear(var({2, 3}), var({5, 3, 1}), {}),
                       doctest::Contains("linear: the weight must be (K,C), not (5,3,1)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS((void)ops::linear(var({2, 3}), var({5, 4}), {}),
                       doctest::Contains("linear: input has 3 features, weight expects 4"),
                       ShapeError);
}
