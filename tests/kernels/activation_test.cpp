#include "framework/kernels/activation/activation.h"

#include "framework/tensor/factory.h"
#include "tests/support/worse.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

using namespace learn;

namespace {

struct Errors {
  double forward = 0;
  double backward = 0;
};

/// The largest absolute errors of the fast implementation in f32 on a fine grid of [low, high].
Errors worst_errors(const ActivationKind& kind, double low, double high) {
  constexpr std::int64_t kPoints = 200001;
  Context ctx({.threads = 2});
  Tensor x = ctx.empty({kPoints}, DType::f32);
  Tensor exact = ctx.empty({kPoints}, DType::f64);
  for (std::int64_t i = 0; i < kPoints; ++i) {
    set(x, i, low + (high - low) * static_cast<double>(i) / (kPoints - 1));
    set(exact, i, get(x, i));
  }
  Tensor y = ctx.empty({kPoints}, DType::f32);
  Tensor exact_y = ctx.empty({kPoints}, DType::f64);
  Tensor dx = ctx.empty({kPoints}, DType::f32);
  Tensor exact_dx = ctx.empty({kPoints}, DType::f64);
  kernels::activation_forward(ctx, kind, x, y);
  kernels::activation_forward(ctx, kind, exact, exact_y);
  kernels::activation_backward(
      ctx, kind, x, full(ctx.step(), {kPoints}, DType::f32, 1), dx, GradMode::overwrite);
  kernels::activation_backward(
      ctx, kind, exact, full(ctx.step(), {kPoints}, DType::f64, 1), exact_dx, GradMode::overwrite);
  Errors worst;
  for (std::int64_t i = 0; i < kPoints; ++i) {
    const double size = std::max(1.0, std::abs(get(x, i)));
    worst.forward = test::worse(worst.forward, std::abs(get(y, i) - get(exact_y, i)) / size);
    worst.backward = test::worse(worst.backward, std::abs(get(dx, i) - get(exact_dx, i)));
  }
  return worst;
}

}  // namespace

// An f32 library function rounds to about one unit (2^-23 of a value near 1). Ours may lose two
// more: the polynomial's own error, and the rounding of the exponent before exp.
TEST_CASE("activations in f32 stay within three units of double") {
  for (const NamedActivation& act : kActivations) {
    CAPTURE(std::string(act.name));
    for (const double range : {1.0, 10.0, 200.0}) {
      CAPTURE(range);
      const Errors worst = worst_errors(act.kind, -range, range);
      CHECK(worst.forward < 3 * 0x1p-23);
      CHECK(worst.backward < 6 * 0x1p-23);
    }
  }
}

TEST_CASE(
    "at NaN relu and hardswish pass the gradient on, others none of it or their negative slope") {
  for (const bool reference : {false, true}) {
    Context ctx({.threads = 1, .reference = reference});
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      CAPTURE(std::string(name_of(dtype)));
      const Tensor x = full(ctx.step(), {33}, dtype, NAN);
      const Tensor dy = full(ctx.step(), {33}, dtype, 3);
      Tensor dx = full(ctx.step(), {33}, dtype, 0);
      const auto slope = [&](const ActivationKind& kind) {
        kernels::activation_backward(ctx, kind, x, dy, dx, GradMode::overwrite);
        for (std::int64_t i = 1; i < 33; ++i) CHECK(get(dx, i) == get(dx, 0));
        return get(dx, 0) / 3;
      };
      CHECK(slope(ActivationKind::relu()) == 1);
      CHECK(slope(ActivationKind::relu6()) == 0);
      CHECK(slope(ActivationKind::leaky_relu(0.125F)) == 0.125);
      CHECK(slope(ActivationKind::identity()) == 1);
      CHECK(slope(ActivationKind::hardswish()) == 1);
      CHECK(slope(ActivationKind::hardsigmoid()) == 0);
    }
  }
}

TEST_CASE("NaN passes through every activation, forward and backward, in both implementations") {
  for (const bool reference : {false, true}) {
    Context ctx({.threads = 1, .reference = reference});
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const NamedActivation& act : kActivations) {
        CAPTURE(std::string(act.name));
        CAPTURE(std::string(name_of(dtype)));
        Tensor x = full(ctx.step(), {33}, dtype, NAN);
        Tensor y = full(ctx.step(), {33}, dtype, 0);
        kernels::activation_forward(ctx, act.kind, x, y);
        for (std::int64_t i = 0; i < 33; ++i) CHECK(std::isnan(get(y, i)));
        // A NaN in dy must reach dx even where the slope is 0.
        Tensor negative = full(ctx.step(), {33}, dtype, -1);
        kernels::activation_backward(ctx, act.kind, negative, x, y, GradMode::overwrite);
        for (std::int64_t i = 0; i < 33; ++i) CHECK(std::isnan(get(y, i)));
      }
  }
}
