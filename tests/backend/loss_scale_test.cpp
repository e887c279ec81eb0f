#include "framework/backend/loss_scale.h"

#include "framework/tensor/compare.h"
#include "framework/tensor/factory.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace learn;

namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

struct Control {
  Tensor block;
  explicit Control(Context& ctx, const StepControl& value = {})
      : block(ctx.persistent(), {static_cast<std::int64_t>(sizeof(StepControl))}, DType::u8) {
    std::memcpy(block.raw(), &value, sizeof(value));
  }
  [[nodiscard]] StepControl read() const {
    StepControl value;
    std::memcpy(&value, block.raw(), sizeof(value));
    return value;
  }
};

}  // namespace

TEST_CASE("half gradients are gathered as the reference does") {
  for (const DType half : {DType::f16, DType::bf16})
    for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate})
      for (const std::int64_t n : {1, 17, 100003}) {
        CAPTURE(half);
        CAPTURE(n);
        Context fast({.threads = 2}), exact({.threads = 1, .reference = true});
        Tensor results[2];
        for (Context* ctx : {&fast, &exact}) {
          Control control(*ctx, {.inverse_scale = 1.0F / 1024});
          const Tensor grads = uniform(ctx->persistent(), {n}, half, -2000, 2000, 3);
          Tensor to = uniform(ctx->persistent(), {n}, DType::f32, -1, 1, 4);
          backend::gather_half_grads(*ctx, grads, to, control.block, mode);
          CHECK(control.read().found_inf == 0);
          results[ctx == &exact ? 1 : 0] = to;
        }
        // Scaling by a power of two is exact; only the addition rounds, once in either twin.
        CHECK(all_close(results[0], results[1], 0x1p-24, 0));
      }
}

TEST_CASE("one non-finite element anywhere is found, whatever its kind") {
  for (const bool reference : {false, true})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const std::int64_t n : {1, 63, 70001})
        for (const double value : {kInf, -kInf, kNan, 65504.0}) {
          CAPTURE(reference);
          CAPTURE(dtype);
          CAPTURE(n);
          CAPTURE(value);
          Context ctx({.threads = 2, .reference = reference});
          for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
            Tensor grads = full(ctx.step(), {n}, dtype, 1);
            set(grads, at, value);
            const std::int32_t expected = std::isfinite(value) ? 0 : 1;
            Control found(ctx);
            backend::find_non_finite(ctx, grads, found.block);
            CHECK(found.read().found_inf == expected);
            Control processed(ctx);
            Tensor sums = zeros(ctx.step(), {n});
            if (dtype == DType::f32)
              backend::unscale_grads(ctx, grads, processed.block);
            else
              backend::gather_half_grads(ctx, grads, sums, processed.block, GradMode::accumulate);
            CHECK(processed.read().found_inf == expected);
          }
        }
}

TEST_CASE("an overflow once found stays found until the next step begins") {
  Context ctx({.threads = 1});
  Control control(ctx, {.grad_multiplier = 0.5F, .found_inf = 1});
  Tensor grads = full(ctx.step(), {8}, DType::f32, 1);
  backend::unscale_grads(ctx, grads, control.block);
  CHECK(control.read().found_inf == 1);
  backend::begin_step(ctx, control.block);
  CHECK(control.read().found_inf == 0);
  CHECK(control.read().grad_multiplier == 1);
}

TEST_CASE("the norm is exact to f32 and the same for any number of threads") {
  for (const std::int64_t n : {0, 1, 13, 200001}) {
    CAPTURE(n);
    float norms[3];
    int k = 0;
    for (const int threads : {1, 2, 3}) {
      Context ctx({.threads = threads});
      const Tensor x = uniform(ctx.step(), {n}, DType::f32, -3, 3, 9);
      const Tensor y = uniform(ctx.step(), {7}, DType::f32, -3, 3, 10);
      Tensor norm(ctx.step(), {1}, DType::f32);
      backend::l2_norm(ctx, {x, y}, norm);
      norms[k++] = *norm.data<float>();
      long double sum = 0;
      for (const Tensor* t : {&x, &y})
        for (std::int64_t i = 0; i < t->elements(); ++i)
          sum += static_cast<long double>(get(*t, i)) * static_cast<long double>(get(*t, i));
      // One rounding to f32.
      CHECK(get(norm, 0) == doctest::Approx(static_cast<double>(std::sqrt(sum))).epsilon(0x1p-23));
    }
    CHECK(norms[0] == norms[1]);
    CHECK(norms[0] == norms[2]);
  }
  Context ctx({.threads = 1});
  Tensor norm(ctx.step(), {1}, DType::f32);
  backend::l2_norm(ctx, {full(ctx.step(), {4}, DType::f32, 1e30)}, norm);
  CHECK(get(norm, 0) == doctest::Approx(2e30));
}

TEST_CASE("clipping leaves small norms, shrinks large ones and passes over infinite ones") {
  Context ctx({.threads = 1});
  const auto multiplier = [&](double norm, float limit, float before) {
    Control control(ctx, {.grad_multiplier = before});
    backend::clip_by_norm(ctx, full(ctx.step(), {1}, DType::f32, norm), limit, control.block);
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
  CHECK_THROWS_AS(
      backend::clip_by_norm(ctx, full(ctx.step(), {1}, DType::f32, 1), 0, control.block),
      UsageError);
}

TEST_CASE("clamping keeps signs and NaN") {
  for (const bool reference : {false, true}) {
    Context ctx({.threads = 1, .reference = reference});
    const Control control(ctx);
    Tensor x = from_values(ctx.step(), {6}, std::vector<double>{-3, -1, 0.5, 2, kInf, kNan});
    backend::clip_by_value(ctx, x, 1, control.block);
    const Tensor expected =
        from_values(ctx.step(), {6}, std::vector<double>{-1, -1, 0.5, 1, 1, kNan});
    CHECK(all_close(x, expected, 0, 0));
  }
}

TEST_CASE("the dynamic loss scale halves on overflow and doubles after clean steps") {
  Context ctx({.threads = 1});
  Control control(ctx);
  backend::set_loss_scale(ctx, 8, control.block);
  const LossScaleOptions options{.growth_interval = 3, .floor = 2, .ceiling = 32};
  const auto step = [&](bool overflow) {
    StepControl value = control.read();
    value.found_inf = overflow ? 1 : 0;
    std::memcpy(control.block.raw(), &value, sizeof(value));
    backend::update_loss_scale(ctx, options, control.block);
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
  CHECK(step(false) == 8);  // the count began anew
  CHECK(step(false) == 8);
  CHECK(step(false) == 16);
  for (int i = 0; i < 12; ++i) CHECK(step(false) <= 32);
  CHECK(step(false) == 32);
  CHECK(control.read().clean_steps > 3);
  for (int i = 0; i < 10; ++i) CHECK(step(true) >= 2);
  CHECK(step(true) == 2);
}

TEST_CASE("a static loss scale does not move") {
  Context ctx({.threads = 1});
  for (const std::int32_t overflow : {0, 1}) {
    Control control(ctx, {.loss_scale = 512, .inverse_scale = 1.0F / 512, .found_inf = overflow});
    backend::update_loss_scale(ctx, {.dynamic = false, .growth_interval = 1}, control.block);
    CHECK(control.read().loss_scale == 512);
  }
  Control control(ctx);
  CHECK_THROWS_AS(backend::update_loss_scale(ctx, {.factor = 1}, control.block), UsageError);
  CHECK_THROWS_AS(backend::set_loss_scale(ctx, 0, control.block), UsageError);
  CHECK_THROWS_AS(backend::set_loss_scale(ctx, static_cast<float>(kInf), control.block),
                  UsageError);
}

TEST_CASE("running statistics are committed or restored by the same flag") {
  Context ctx({.threads = 2});
  for (const std::int32_t overflow : {0, 1}) {
    Control control(ctx, {.found_inf = overflow});
    Tensor live = full(ctx.step(), {100}, DType::f32, 2);
    Tensor committed = full(ctx.step(), {100}, DType::f32, 1);
    backend::commit_or_restore(ctx, live, committed, control.block);
    CHECK(same_bits(live, committed));
    CHECK(get(live, 99) == (overflow != 0 ? 1 : 2));
  }
}
