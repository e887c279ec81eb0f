#include "framework/kernels/optim/ema.h"

#include "tests/support/compare.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <vector>

using namespace learn;

namespace {

/// The average after updates 1 to `updates`, with new random weights for each.
Tensor averaged(Context& ctx, std::int64_t n, const EmaOptions& options, int updates, DType dtype) {
  Tensor average = test::put_uniform(ctx, {n}, DType::f32, -1, 1, 3, 0);
  for (int t = 1; t <= updates; ++t) {
    const Tensor weight =
        test::put_uniform(ctx, {n}, dtype, -1, 1, 3, static_cast<std::uint64_t>(t));
    const auto control = test::put_block(ctx, StepControl{.step = options.first_step + t});
    kernels::ema_update(ctx, weight, options, control, average);
  }
  return to_host(ctx, average);
}

double one_update(Context& ctx, const EmaOptions& options, const StepControl& control) {
  Tensor average = test::put_full(ctx, {5}, DType::f32, 1);
  const Tensor weight = test::put_full(ctx, {5}, DType::f32, 3);
  kernels::ema_update(ctx, weight, options, test::put_block(ctx, control), average);
  return test::fetch(ctx, average, 4);
}

}  // namespace

TEST_CASE("moving average: every size, with and without warm-up, as the reference") {
  Context fast(test::fast_context(3));
  Context oracle({.threads = 1, .reference = true});
  for (const std::int64_t n :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{67}, test::sized(40000, 700)})
    for (const bool warmup : {false, true})
      for (const std::int64_t first_step : {0, 1000})
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
          CAPTURE(n);
          CAPTURE(warmup);
          CAPTURE(dtype);
          const EmaOptions options{.decay = 0.9, .warmup = warmup, .first_step = first_step};
          // Each of the five updates rounds a difference below 2 and the result: at most two units
          // of 2^-24, and what was wrong before shrinks.
          const Comparison result = all_close(averaged(fast, n, options, 5, dtype),
                                              averaged(oracle, n, options, 5, dtype),
                                              0,
                                              6e-7);
          CHECK_MESSAGE(result.equal, result.text);
        }
}

TEST_CASE("moving average: exact values of the first updates and after the warm-up") {
  for (const bool reference : {false, true}) {
    if (test::testing_cuda() && reference) continue;
    Context ctx(reference ? ContextOptions{.reference = true} : test::fast_context(1));
    // Halves and quarters: nothing is rounded.
    const EmaOptions plain{.decay = 0.75, .warmup = false};
    CHECK(one_update(ctx, plain, {.step = 1}) == 1.5);
    CHECK(one_update(ctx, plain, {.step = 999}) == 1.5);
    const EmaOptions warm{.decay = 0.75, .first_step = 40};
    CHECK(one_update(ctx, warm, {.step = 40 + 8}) == 2);     // 9 / 18 is taken
    CHECK(one_update(ctx, warm, {.step = 40 + 26}) == 1.5);  // 9 / 36 = 1 - decay
    CHECK(one_update(ctx, warm, {.step = 40 + 27}) == 1.5);
    CHECK(one_update(ctx, warm, {.step = 41}) == doctest::Approx(1 + 2 * 9.0 / 11).epsilon(1e-6));
    CHECK(one_update(ctx, warm, {.found_inf = 1, .step = 41}) == 1);
    CHECK(one_update(ctx, {.decay = 0, .warmup = false}, {.step = 1}) == 3);
  }
}

TEST_CASE("moving average: operands that do not fit are errors") {
  Context ctx(test::fast_context(1));
  const auto control = test::put_block(ctx, StepControl{});
  const Tensor weight = test::put_full(ctx, {4}, DType::f32, 1);
  Tensor average = test::put_full(ctx, {3}, DType::f32, 1);
  CHECK_THROWS_AS(kernels::ema_update(ctx, weight, {}, control, average), ShapeError);
  Tensor half = test::put_full(ctx, {4}, DType::f16, 1);
  CHECK_THROWS_AS(kernels::ema_update(ctx, half, {}, control, half), DTypeError);
  Tensor same = test::put_full(ctx, {4}, DType::f32, 1);
  CHECK_THROWS_AS(kernels::ema_update(ctx, weight, {}, {}, same), Error);
}
