#include "framework/kernels/step/gradients.h"
#include "framework/kernels/step/step.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace learn;

namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

struct Control {
  Context& ctx;
  DeviceArray<StepControl> block;
  explicit Control(Context& context, const StepControl& value = {})
      : ctx(context), block(test::put_block(context, value)) {}
  [[nodiscard]] StepControl read() const { return block.read(ctx); }
};

}  // namespace

TEST_CASE("half gradients are gathered as the reference does") {
  for (const DType half : {DType::f16, DType::bf16})
    for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate})
      for (const std::int64_t n : {std::int64_t{1}, std::int64_t{17}, test::sized(100003, 1003)}) {
        CAPTURE(half);
        CAPTURE(n);
        Context fast(test::fast_context(2)), exact({.threads = 1, .reference = true});
        Tensor results[2];
        for (Context* ctx : {&fast, &exact}) {
          Control control(*ctx, {.inverse_scale = 1.0F / 1024});
          const Tensor grads = test::put_uniform(*ctx, {n}, half, -2000, 2000, 3);
          Tensor to = test::put_uniform(*ctx, {n}, DType::f32, -1, 1, 4);
          kernels::unscale_to_master_grads(*ctx, grads, to, control.block, mode);
          CHECK(control.read().found_inf == 0);
          results[ctx == &exact ? 1 : 0] = to_host(*ctx, to);
        }
        // Scaling by a power of two is exact; only the addition rounds, once in either
        // implementation.
        CHECK(all_close(results[0], results[1], 0x1p-24, 0));
      }
}

TEST_CASE("one non-finite element anywhere is found, whatever its kind") {
  for (const bool reference : {false, true})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const std::int64_t n : {std::int64_t{1}, std::int64_t{63}, test::sized(70001, 601)})
        for (const double value : {kInf, -kInf, kNan, 65504.0}) {
          CAPTURE(reference);
          CAPTURE(dtype);
          CAPTURE(n);
          CAPTURE(value);
          if (reference && test::testing_cuda()) continue;
          Context ctx(reference ? ContextOptions{.threads = 2, .reference = true}
                                : test::fast_context(2));
          for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
            Arena& host = test::host_values();
            Tensor wanted = full(host, {n}, dtype, 1);
            set(wanted, at, value);
            Tensor grads = test::put(ctx, wanted);
            const std::int32_t expected = std::isfinite(value) ? 0 : 1;
            Control found(ctx);
            kernels::find_non_finite(ctx, grads, found.block);
            CHECK(found.read().found_inf == expected);
            Control processed(ctx);
            Tensor sums = test::put_full(ctx, {n}, DType::f32, 0);
            if (dtype == DType::f32)
              kernels::unscale_grads(ctx, grads, processed.block);
            else
              kernels::unscale_to_master_grads(
                  ctx, grads, sums, processed.block, GradMode::accumulate);
            CHECK(processed.read().found_inf == expected);
          }
        }
}

TEST_CASE("an overflow stays recorded until the next step starts") {
  Context ctx(test::fast_context(1));
  Control control(ctx, {.grad_multiplier = 0.5F, .found_inf = 1});
  Tensor grads = test::put_full(ctx, {8}, DType::f32, 1);
  kernels::unscale_grads(ctx, grads, control.block);
  CHECK(control.read().found_inf == 1);
  kernels::begin_step(ctx, control.block);
  CHECK(control.read().found_inf == 0);
  CHECK(control.read().grad_multiplier == 1);
}

TEST_CASE("the norm is exact to f32 and the same for any number of threads") {
  for (const std::int64_t n :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{13}, test::sized(200001, 9001)})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      CAPTURE(n);
      CAPTURE(dtype);
      float norms[3];
      int k = 0;
      for (const int threads : {1, 2, 3}) {
        Context ctx(test::fast_context(threads));
        Arena& host = test::host_values();
        const Tensor x = uniform(host, {n}, dtype, -3, 3, 9);
        const Tensor y = uniform(host, {7}, dtype, -3, 3, 10);
        Tensor result(ctx.step(), {1}, DType::f32);
        kernels::l2_norm(ctx, {test::put(ctx, x), test::put(ctx, y)}, result);
        const Tensor norm = to_host(ctx, result);
        norms[k++] = *norm.data<float>();
        long double sum = 0;
        for (const Tensor* t : {&x, &y})
          for (std::int64_t i = 0; i < t->elements(); ++i)
            sum += static_cast<long double>(get(*t, i)) * static_cast<long double>(get(*t, i));
        // One rounding to f32; CUDA adds up in f32: the rounding errors of a tree of sums.
        const double allowed = test::testing_cuda() ? 0x1p-21 : 0x1p-23;
        CHECK(get(norm, 0) ==
              doctest::Approx(static_cast<double>(std::sqrt(sum))).epsilon(allowed));
      }
      CHECK(norms[0] == norms[1]);
      CHECK(norms[0] == norms[2]);
    }
  Context ctx(test::fast_context(1));
  Tensor norm(ctx.step(), {1}, DType::f32);
  kernels::l2_norm(ctx, {test::put_full(ctx, {4}, DType::f32, 1e30)}, norm);
  CHECK(test::fetch(ctx, norm, 0) == doctest::Approx(2e30));
  kernels::l2_norm(ctx, {test::put_values(ctx, {3}, {kInf, 1, 1})}, norm);
  CHECK(test::fetch(ctx, norm, 0) == kInf);
  kernels::l2_norm(ctx, {test::put_values(ctx, {3}, {kNan, 1e30, 1})}, norm);
  CHECK(std::isnan(test::fetch(ctx, norm, 0)));
  const Tensor half = test::put_full(ctx, {4}, DType::f16, 60000);  // its square does not fit f16
  kernels::l2_norm(ctx, {half}, norm);
  CHECK(test::fetch(ctx, norm, 0) == doctest::Approx(120000));
  CHECK_THROWS_WITH_AS(kernels::l2_norm(ctx, {half, norm}, norm),
                       doctest::Contains("dtypes differ: f32 and f16"),
                       DTypeError);
}

TEST_CASE("clipping keeps small norms, shrinks large ones and ignores infinite ones") {
  Context ctx(test::fast_context(1));
  const auto multiplier = [&](double norm, float limit, float before) {
    Control control(ctx, {.grad_multiplier = before});
    Tensor joined(ctx.step(), {1}, DType::f32);
    kernels::clip_by_norm(
        ctx, {test::put_full(ctx, {1}, DType::f32, norm)}, limit, joined, control.block);
    CHECK((std::isnan(norm) || test::fetch(ctx, joined, 0) == norm));
    return control.read().grad_multiplier;
  };
  CHECK(multiplier(0.5, 1, 1) == 1);
  CHECK(multiplier(0, 1, 1) == 1);
  CHECK(multiplier(4, 1, 1) == doctest::Approx(0.25).epsilon(1e-6));
  CHECK(multiplier(4, 1, 0.5F) == doctest::Approx(0.25).epsilon(1e-6));
  CHECK(multiplier(4, 1, 0.125F) == 0.125F);
  CHECK(multiplier(kInf, 1, 1) == 1);
  CHECK(multiplier(kNan, 1, 1) == 1);
  Control control(ctx);
  Tensor norm(ctx.step(), {1}, DType::f32);
  CHECK_THROWS_AS(kernels::clip_by_norm(ctx, {norm}, 0, norm, control.block), UsageError);
}

TEST_CASE("clamping keeps signs and NaN") {
  for (const bool reference : {false, true}) {
    if (reference && test::testing_cuda()) continue;
    Context ctx(reference ? ContextOptions{.threads = 1, .reference = true}
                          : test::fast_context(1));
    const Control control(ctx, {.grad_multiplier = 0.5F});
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      Tensor x = test::put_values(ctx, {6}, {-3, -1, 0.5, 2.5, kInf, kNan}, dtype);
      kernels::clip_by_value(ctx, x, 1, control.block);
      Context host({.threads = 1});
      const Tensor expected = test::put_values(host, {6}, {-2, -1, 0.5, 2, 2, kNan}, dtype);
      CHECK(all_close(to_host(ctx, x), expected, 0, 0));
    }
  }
}

namespace {

/// A step's end without running statistics.
void end_step(Context& ctx, const LossScaleOptions& scaling, DeviceArray<StepControl>& control) {
  Tensor none = ctx.empty({0}, DType::f32);
  kernels::end_step(ctx, none, none, scaling, control);
}

}  // namespace

TEST_CASE("the dynamic loss scale halves on overflow and doubles after clean steps") {
  Context ctx(test::fast_context(1));
  Control control(ctx);
  kernels::set_loss_scale(ctx, 8, control.block);
  const LossScaleOptions options{.growth_interval = 3, .floor = 2, .ceiling = 32};
  const auto step = [&](bool overflow) {
    StepControl value = control.read();
    value.found_inf = overflow ? 1 : 0;
    kernels::write_control(ctx, value, control.block);
    end_step(ctx, options, control.block);
    const StepControl after = control.read();
    CHECK(after.inverse_scale == 1 / after.loss_scale);
    return after.loss_scale;
  };
  CHECK(step(false) == 8);
  CHECK(step(false) == 8);
  CHECK(step(false) == 16);
  CHECK(step(false) == 16);
  CHECK(step(false) == 16);
  CHECK(step(true) == 8);
  CHECK(step(false) == 8);  // the count started again
  CHECK(step(false) == 8);
  CHECK(step(false) == 16);
  for (int i = 0; i < 12; ++i) CHECK(step(false) <= 32);
  CHECK(step(false) == 32);
  CHECK(control.read().clean_steps < 3);  // an interval that changed nothing is over, too
  for (int i = 0; i < 10; ++i) CHECK(step(true) >= 2);
  CHECK(step(true) == 2);
}

TEST_CASE("the loss scale stops at its ceiling and floor, whatever its factor") {
  Context ctx(test::fast_context(1));
  const LossScaleOptions options{
      .growth_factor = 4, .backoff_factor = 0.25F, .growth_interval = 1, .floor = 3, .ceiling = 20};
  const auto after = [&](float scale, std::int32_t overflow) {
    Control control(ctx, {.loss_scale = scale, .inverse_scale = 1 / scale, .found_inf = overflow});
    end_step(ctx, options, control.block);
    return control.read().loss_scale;
  };
  CHECK(after(8, 0) == 20);
  CHECK(after(8, 1) == 3);
}

TEST_CASE("with a hysteresis the loss scale backs off from a later overflow in a row on") {
  Context ctx(test::fast_context(1));
  Control control(ctx, {.loss_scale = 64, .inverse_scale = 1.0F / 64});
  const LossScaleOptions options{.growth_interval = 4, .hysteresis = 3};
  const auto step = [&](bool overflow) {
    StepControl value = control.read();
    value.found_inf = overflow ? 1 : 0;
    kernels::write_control(ctx, value, control.block);
    end_step(ctx, options, control.block);
    return control.read().loss_scale;
  };
  CHECK(step(true) == 64);
  CHECK(step(true) == 64);
  CHECK(step(false) == 64);  // the row is broken
  CHECK(step(true) == 64);
  CHECK(step(true) == 64);
  CHECK(step(true) == 32);
  CHECK(step(true) == 16);  // and continues
  CHECK(control.read().overflows == 4);
  for (int i = 0; i < 3; ++i) CHECK(step(false) == 16);
  CHECK(step(true) == 16);  // which also restarts the count of clean steps
  for (int i = 0; i < 3; ++i) CHECK(step(false) == 16);
  CHECK(step(false) == 32);
  CHECK(control.read().overflows == 0);
}

TEST_CASE("a block takes the scale of another and its overflows and nothing else") {
  Context ctx(test::fast_context(1));
  const Control scaler(
      ctx, {.loss_scale = 1024, .inverse_scale = 1.0F / 1024, .found_inf = 1, .clean_steps = 7});
  Control own(ctx, {.grad_multiplier = 0.5F, .clean_steps = 2, .step = 9});
  kernels::share_loss_scale(ctx, scaler.block, own.block);
  CHECK(own.read().loss_scale == 1024);
  CHECK(own.read().inverse_scale == 1.0F / 1024);
  CHECK(own.read().found_inf == 0);
  kernels::collect_found_inf(ctx, scaler.block, own.block);
  CHECK(own.read().found_inf == 1);
  CHECK(own.read().grad_multiplier == 0.5F);
  CHECK(own.read().clean_steps == 2);
  CHECK(own.read().step == 9);
  const Control clean(ctx);
  kernels::collect_found_inf(ctx, clean.block, own.block);
  CHECK(own.read().found_inf == 1);
}

TEST_CASE("a static loss scale does not move") {
  Context ctx(test::fast_context(1));
  for (const std::int32_t overflow : {0, 1}) {
    Control control(ctx, {.loss_scale = 512, .inverse_scale = 1.0F / 512, .found_inf = overflow});
    end_step(ctx, {.dynamic = false, .growth_interval = 1}, control.block);
    CHECK(control.read().loss_scale == 512);
  }
  Control control(ctx);
  for (const LossScaleOptions& wrong : {LossScaleOptions{.growth_factor = 1},
                                        {.growth_factor = static_cast<float>(kInf)},
                                        {.backoff_factor = 1},
                                        {.backoff_factor = 0},
                                        {.growth_interval = 0},
                                        {.hysteresis = 0},
                                        {.floor = 0},
                                        {.floor = 2, .ceiling = 1},
                                        {.ceiling = static_cast<float>(kInf)}})
    CHECK_THROWS_AS(end_step(ctx, wrong, control.block), UsageError);
  CHECK_THROWS_AS(kernels::set_loss_scale(ctx, 0, control.block), UsageError);
  CHECK_THROWS_AS(kernels::set_loss_scale(ctx, static_cast<float>(kInf), control.block),
                  UsageError);
}

TEST_CASE("running statistics are committed or restored by the same flag") {
  Context ctx(test::fast_context(2));
  for (const std::int32_t overflow : {0, 1}) {
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{100}, std::int64_t{1000}}) {
      CAPTURE(n);
      Control control(ctx, {.grad_multiplier = 0.5F, .found_inf = overflow});
      Tensor live = test::put_full(ctx, {n}, DType::f32, 2);
      Tensor committed = test::put_full(ctx, {n}, DType::f32, 1);
      kernels::end_step(ctx, live, committed, {.dynamic = false}, control.block);
      CHECK(same_bits(to_host(ctx, live), to_host(ctx, committed)));
      if (n > 0) CHECK(test::fetch(ctx, live, n - 1) == (overflow != 0 ? 1 : 2));
      const StepControl after = control.read();
      CHECK(after.skipped == overflow);
      CHECK(after.step == 1 - overflow);
      CHECK(after.grad_multiplier == 1);
      CHECK(after.found_inf == overflow);
    }
  }
}
