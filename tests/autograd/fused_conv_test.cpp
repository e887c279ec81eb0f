#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/core/error.h"
#include "framework/kernels/conv/conv_affine.h"
#include "framework/kernels/norm/batch_norm.h"
#include "framework/tensor/host_tensor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace learn;

namespace {

Tensor random_tensor(const Shape& shape, std::mt19937& random, float low = -1) {
  Tensor out = host_tensor(shape, DType::f32);
  std::uniform_real_distribution<float> values(low, 1);
  for (float& v : out.span<float>()) v = values(random);
  return out;
}

/// A convolution and the batch normalization after it.
struct Pair {
  std::int64_t n, size, c, k, window;
  Conv2dOptions options;
  bool bias = false;
  bool residual = false;
  BatchNormOptions norm{};
};

struct Operands {
  Tensor x, w, bias, weight, shift, mean, var, residual;
};

Operands operands_of(const Pair& pair, std::mt19937& random) {
  const std::int64_t out =
      (pair.size + 2 * pair.options.pad_top - pair.window) / pair.options.stride_h + 1;
  const auto vector = [&](float low) { return random_tensor({pair.k}, random, low); };
  return {
      .x = random_tensor({pair.n, pair.size, pair.size, pair.c}, random),
      .w = random_tensor({pair.k, pair.window, pair.window, pair.c / pair.options.groups}, random),
      .bias = vector(-1),
      .weight = vector(-1),
      .shift = vector(-1),
      .mean = vector(-1),
      .var = vector(0.1F),
      .residual = random_tensor({pair.n, out, out, pair.k}, random)};
}

/// The output, and that of the convolution alone if it is `looked_at` after the normalization.
std::vector<float> run(
    Context& ctx, const Pair& pair, const Operands& in, bool grad, bool looked_at = false) {
  Tape tape(ctx, {.mode = ForwardMode::eval, .grad = grad});
  // A requested gradient makes the tape record.
  const Var x = tape.input(in.x, grad);
  const Var y =
      ops::conv2d(x, tape.input(in.w), pair.bias ? tape.input(in.bias) : Var(), pair.options);
  CHECK((y.deferred() != nullptr) == !grad);
  const Var out = ops::batch_norm(y,
                                  tape.input(in.weight),
                                  tape.input(in.shift),
                                  in.mean,
                                  in.var,
                                  pair.residual ? tape.input(in.residual) : Var(),
                                  pair.norm,
                                  ForwardMode::eval);
  const auto values = (looked_at ? y : out).value().span<float>();
  return {values.begin(), values.end()};
}

const Conv2dOptions kSame = Conv2dOptions::symmetric(1, 1);

}  // namespace

TEST_CASE("a normalization fused into a convolution has the bits of a separate one") {
  const std::vector<ActivationKind> activations{ActivationKind::identity(),
                                                ActivationKind::relu(),
                                                ActivationKind::leaky_relu(0.1F),
                                                ActivationKind::relu6(),
                                                ActivationKind::gelu()};
  const std::vector<Pair> pairs{
      {2, 16, 32, 48, 3, kSame},                              // Winograd, block by block
      {3, 8, 144, 160, 3, kSame},                             // Winograd, stage by stage
      {1, 9, 16, 32, 3, kSame},                               // tiles that stick out
      {2, 8, 64, 80, 3, Conv2dOptions::symmetric(1, 1, 4)},   // Winograd in groups
      {3, 16, 32, 100, 3, Conv2dOptions::symmetric(2, 1)},    // of every second pixel
      {2, 8, 16, 100, 5, Conv2dOptions::symmetric(1, 2)},     // of a larger window
      {2, 9, 5, 7, 3, Conv2dOptions::symmetric(2, 1)},        // odd channels
      {2, 8, 70, 40, 1, Conv2dOptions::symmetric(1, 0)},      // several panels
      {1, 4, 512, 512, 3, kSame},                             // deep, in parts
      {2, 6, 8, 12, 3, Conv2dOptions::symmetric(1, 1, 4)},    // groups
      {2, 6, 72, 72, 3, Conv2dOptions::symmetric(2, 1, 72)},  // narrow ones, in slices
  };
  std::mt19937 random(7);
  for (const bool constant : {false, true}) {
    for (Pair pair : pairs) {
      Context ctx({.device = Device::cpu(), .threads = 2, .constant_weights = constant});
      const Operands in = operands_of(pair, random);
      for (const ActivationKind& activation : activations)
        for (int i = 0; i < 6; ++i) {
          pair.bias = i % 2 == 1;
          pair.residual = i >= 2;
          pair.norm = {.activation = activation, .residual_before_activation = i >= 4};
          CAPTURE(constant);
          CAPTURE(pair.c);
          CAPTURE(static_cast<int>(activation.name));
          CAPTURE(i);
          CHECK(run(ctx, pair, in, false) == run(ctx, pair, in, true));
        }
    }
  }
}

TEST_CASE("a convolution that was fused is computed for others that need its output") {
  Context ctx({.device = Device::cpu()});
  const Pair pair{1, 8, 16, 16, 3, kSame};
  std::mt19937 random(8);
  const Operands in = operands_of(pair, random);
  CHECK(run(ctx, pair, in, false, true) == run(ctx, pair, in, true, true));
}

TEST_CASE("a deferred operation refuses wrong operands immediately") {
  Context ctx({.device = Device::cpu()});
  Tape tape(ctx, {.mode = ForwardMode::eval, .grad = false});
  const Var x = tape.input(host_tensor({1, 4, 4, 3}, DType::f32));
  const Var half = tape.input(host_tensor({2, 3, 3, 3}, DType::f16));
  CHECK_THROWS_AS((void)ops::conv2d(x, half, {}, kSame), DTypeError);
  const Var w = tape.input(host_tensor({2, 3, 3, 3}, DType::f32));
  const Var long_bias = tape.input(host_tensor({3}, DType::f32));
  CHECK_THROWS_AS((void)ops::conv2d(x, w, long_bias, kSame), ShapeError);
}

TEST_CASE("a deferred value dies with its tape, and a recording tape has none") {
  Context ctx({.device = Device::cpu()});
  Tape tape(ctx, {.mode = ForwardMode::eval, .grad = false});
  const Var y = ops::conv2d(tape.input(host_tensor({1, 4, 4, 3}, DType::f32)),
                            tape.input(host_tensor({2, 3, 3, 3}, DType::f32)),
                            {},
                            kSame);
  CHECK(y.shape() == Shape{1, 4, 4, 2});
  CHECK(y.dtype() == DType::f32);
  tape.reset({.mode = ForwardMode::eval});
  CHECK_THROWS_AS((void)y.value(), Error);
  CHECK_THROWS_AS((void)y.shape(), Error);
  CHECK_THROWS_AS((void)tape.defer(nullptr), Error);
}

TEST_CASE("weights that are constant are transformed once and have no gradient") {
  Context ctx({.device = Device::cpu(), .constant_weights = true});
  const Pair pair{1, 8, 16, 16, 3, kSame};
  std::mt19937 random(9);
  Operands in = operands_of(pair, random);
  const std::vector<float> first = run(ctx, pair, in, false);
  CHECK(run(ctx, pair, in, false) == first);
  std::ranges::fill(in.w.span<float>(),
                    0.0F);  // which is against the rule, and shows that they are kept
  CHECK(run(ctx, pair, in, false) == first);
  const Tensor dy = host_tensor({1, 8, 8, 16}, DType::f32);
  Tensor dw = host_tensor(in.w.shape(), DType::f32);
  CHECK_THROWS_WITH_AS(
      kernels::conv2d_backward_weight(ctx, in.x, dy, dw, kSame, GradMode::overwrite),
      "a gradient of weights that are constant by ContextOptions::constant_weights",
      UsageError);
}

TEST_CASE("an output that cannot be scaled by the convolution is refused") {
  Context ctx({.device = Device::cpu()});
  const Tensor x = host_tensor({1, 4, 4, 3}, DType::f32), w = host_tensor({2, 3, 3, 3}, DType::f32);
  Tensor y = host_tensor({1, 4, 4, 2}, DType::f32), vector = host_tensor({2}, DType::f32);
  Tensor longer = host_tensor({3}, DType::f32);
  const auto run = [&](const kernels::ConvAffine& then) {
    kernels::conv2d_affine(ctx, x, w, {}, kSame, then, y);
  };
  CHECK_THROWS_AS(run({.scale = vector, .shift = vector, .activation = ActivationKind::gelu()}),
                  UsageError);
  CHECK_THROWS_AS(run({.scale = longer, .shift = vector}), ShapeError);
  CHECK_THROWS_AS(run({.scale = vector, .shift = vector, .residual = x}), ShapeError);
  CHECK_THROWS_AS(
      kernels::batch_norm_affine(ctx, vector, vector, longer, vector, 1e-5F, vector, vector),
      ShapeError);
}
