#include "framework/kernels/optim/optim.h"

#include "framework/kernels/cast/cast.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace learn;

namespace {

/// One run with random contents, the same for every context, and three state buffers.
struct Case {
  Context ctx;
  kernels::OptimTensors run;
  Tensor a, b, c;

  Case(const ContextOptions& options, std::int64_t n, DType half, const StepControl& control = {})
      : ctx(options) {
    const auto random = [&](double low, double high, std::uint64_t stream) {
      return test::put_uniform(ctx, {n}, DType::f32, low, high, 5, stream);
    };
    run.weight = random(-2, 2, 1);
    run.grad = random(-1, 1, 2);
    if (half != DType::f32) run.half = test::put_full(ctx, {n}, half, 0);
    run.hypers =
        test::put_block(ctx,
                        GroupHypers{.lr = 0.01F,
                                    .momentum = 0.9F,
                                    .dampening = 0.25F,
                                    .beta2 = 0.95F,
                                    .eps = 0.01F,  // large enough to matter where it is added
                                    .weight_decay = 0.1F});
    run.control = test::put_block(ctx, control);
    a = random(0, 1, 3);
    b = random(0.5, 1, 4);  // mean squares, well above the squares of the means, c
    c = random(-0.5, 0.5, 5);
  }
};

using Kernel = void (*)(Case&);
struct Named {
  const char* name;
  Kernel run;
};

const Named kKernels[] = {
    {"sgd",
     [](Case& k) {
       Tensor none;
       kernels::sgd_step(k.ctx, k.run, none, false);
     }},
    {"sgd momentum", [](Case& k) { kernels::sgd_step(k.ctx, k.run, k.a, false); }},
    {"sgd nesterov", [](Case& k) { kernels::sgd_step(k.ctx, k.run, k.a, true); }},
    {"adam", [](Case& k) { kernels::adam_step(k.ctx, k.run, k.a, k.b); }},
    {"rmsprop",
     [](Case& k) {
       kernels::RmsPropState state{.square = k.b};
       kernels::rmsprop_step(k.ctx, k.run, state);
     }},
    {"rmsprop centered",
     [](Case& k) {
       kernels::RmsPropState state{.square = k.b, .mean = k.c};
       kernels::rmsprop_step(k.ctx, k.run, state);
     }},
    {"rmsprop momentum",
     [](Case& k) {
       kernels::RmsPropState state{.square = k.b, .buffer = k.c};
       kernels::rmsprop_step(k.ctx, k.run, state);
     }},
    {"rmsprop both",
     [](Case& k) {
       kernels::RmsPropState state{.square = k.b, .mean = k.c, .buffer = k.a};
       kernels::rmsprop_step(k.ctx, k.run, state);
     }},
};

ContextOptions reference_context() {
  return {.threads = 1, .reference = true, .arena = {.guard = true}};
}

Tensor host(Case& c, const Tensor& tensor) { return to_host(c.ctx, tensor); }

Tensor rounded(Context& ctx, const Tensor& x, DType dtype) {
  Tensor y(ctx.persistent(), x.shape(), dtype);
  kernels::cast(ctx, x, y);
  return y;
}

void compare(Case& fast, Case& exact) {
  // Some ten f32 roundings, 2^-24 each, of values up to 2; divisions by numbers above 0.1.
  const auto close = [&](const Tensor& a, const Tensor& b) {
    const Comparison compared = all_close(host(fast, a), host(exact, b), 1e-6, 1e-6);
    CHECK_MESSAGE(compared.equal, compared.text);
  };
  close(fast.run.weight, exact.run.weight);
  close(fast.a, exact.a);
  close(fast.b, exact.b);
  close(fast.c, exact.c);
}

}  // namespace

TEST_CASE("fast optimizer updates agree with the reference") {
  for (const Named& kernel : kKernels)
    for (const std::int64_t n : {std::int64_t{1},
                                 std::int64_t{15},
                                 std::int64_t{64},
                                 test::sized(1000, 131),
                                 test::sized(100003, 4099)})
      for (const DType half : {DType::f32, DType::f16, DType::bf16})
        for (const std::int64_t step : {0, 1, 100})
          for (const bool decoupled : {false, true}) {
            CAPTURE(kernel.name);
            CAPTURE(n);
            CAPTURE(half);
            CAPTURE(step);
            CAPTURE(decoupled);
            if (n > 1000 && step != 1) continue;
            const StepControl control{.grad_multiplier = 0.5F, .step = step};
            Case fast(test::fast_context(2), n, half, control);
            Case exact(reference_context(), n, half, control);
            Case single(test::fast_context(1), n, half, control);
            for (Case* c : {&fast, &exact, &single}) {
              c->run.missed_steps = step > 1 ? 98 : 0;
              c->run.decoupled_decay = decoupled;
              kernel.run(*c);
            }
            compare(fast, exact);
            const Tensor weight = host(fast, fast.run.weight);
            CHECK(same_bits(weight, host(single, single.run.weight)));
            CHECK(same_bits(host(fast, fast.b), host(single, single.b)));
            if (half == DType::f32) continue;
            const Tensor rounded = host(fast, fast.run.half);
            for (std::int64_t i = 0; i < n; i += 101) {
              Tensor one = full(exact.ctx.step(), {1}, half, get(weight, i));
              CHECK(get(rounded, i) == get(one, 0));
            }
          }
}

TEST_CASE("a run and its parts, wherever they start, are updated with the same bits") {
  for (const Named& kernel : kKernels) {
    CAPTURE(kernel.name);
    constexpr std::int64_t kElements = 1000;
    Case whole(test::fast_context(2), kElements, DType::bf16, {.step = 3});
    Case parts(test::fast_context(1), kElements, DType::bf16, {.step = 3});
    kernel.run(whole);
    const kernels::OptimTensors run = parts.run;
    const Tensor a = parts.a, b = parts.b, c = parts.c;
    // Parameters start at multiples of 16 elements; the last part ends in a tail.
    for (const auto& [begin, count] :
         {std::pair<std::int64_t, std::int64_t>{0, 16}, {16, 480}, {496, 504}}) {
      parts.run.weight = run.weight.range(begin, count);
      parts.run.grad = run.grad.range(begin, count);
      parts.run.half = run.half.range(begin, count);
      parts.a = a.range(begin, count);
      parts.b = b.range(begin, count);
      parts.c = c.range(begin, count);
      kernel.run(parts);
    }
    CHECK(same_bits(host(whole, whole.run.weight), host(parts, run.weight)));
    CHECK(same_bits(host(whole, whole.run.half), host(parts, run.half)));
    CHECK(same_bits(host(whole, whole.a), host(parts, a)));
    CHECK(same_bits(host(whole, whole.b), host(parts, b)));
    CHECK(same_bits(host(whole, whole.c), host(parts, c)));
  }
}

TEST_CASE("an update of halves equals that of f32 weights with the same values, rounded once") {
  for (const Named& kernel : kKernels)
    for (const DType stored : {DType::f16, DType::bf16})
      for (const std::int64_t n : {std::int64_t{1}, std::int64_t{67}, test::sized(3000, 131)})
        for (const bool decoupled : {false, true})
          for (const bool reference : {false, true}) {
            if (reference && test::testing_cuda()) continue;
            CAPTURE(kernel.name);
            CAPTURE(stored);
            CAPTURE(n);
            CAPTURE(reference);
            const ContextOptions options = reference ? reference_context() : test::fast_context(2);
            Case halves(options, n, DType::f32, {.grad_multiplier = 0.5F, .step = 2});
            Case full(options, n, DType::f32, {.grad_multiplier = 0.5F, .step = 2});
            halves.run.decoupled_decay = full.run.decoupled_decay = decoupled;
            const auto each = [&](auto f) {
              f(halves.run.weight, full.run.weight);
              f(halves.run.grad, full.run.grad);
              f(halves.a, full.a);
              f(halves.b, full.b);
              f(halves.c, full.c);
            };
            each([&](Tensor& half, Tensor& wide) {
              half = rounded(halves.ctx, half, stored);
              wide = rounded(full.ctx, rounded(full.ctx, wide, stored), DType::f32);
            });
            kernel.run(halves);
            kernel.run(full);
            each([&](const Tensor& half, const Tensor& wide) {
              CHECK(same_bits(host(halves, half), host(full, rounded(full.ctx, wide, stored))));
            });
          }
}

TEST_CASE("a found infinity leaves an update without effect") {
  for (const Named& kernel : kKernels)
    for (const bool reference : {false, true}) {
      CAPTURE(kernel.name);
      if (reference && test::testing_cuda()) continue;
      const ContextOptions options = reference ? reference_context() : test::fast_context(1);
      Case skipped(options, 100, DType::f16, {.found_inf = 1});
      Case untouched(options, 100, DType::f16);
      kernel.run(skipped);
      const auto same = [&](const Tensor& a, const Tensor& b) {
        CHECK(same_bits(host(skipped, a), host(untouched, b)));
      };
      same(skipped.run.weight, untouched.run.weight);
      same(skipped.run.half, untouched.run.half);
      same(skipped.a, untouched.a);
      same(skipped.b, untouched.b);
      same(skipped.c, untouched.c);
    }
}

TEST_CASE("RMSprop: a variance that rounding has made negative counts as 0") {
  for (const bool reference : {false, true}) {
    if (reference && test::testing_cuda()) continue;
    Case k(reference ? reference_context() : test::fast_context(1), 100, DType::f32);
    const auto filled = [&](double value) {
      return test::put_full(k.ctx, {100}, DType::f32, value);
    };
    k.run.hypers = test::put_block(k.ctx, GroupHypers{.lr = 0.25F, .beta2 = 0.5F, .eps = 0.5F});
    k.run.weight = filled(0);
    k.run.grad = filled(1);
    kernels::RmsPropState state{.square = filled(0.5), .mean = filled(1)};  // 0.5 < 1 * 1
    kernels::rmsprop_step(k.ctx, k.run, state);
    Arena& values = test::host_values();
    const Tensor expected = full(values, {100}, DType::f32, -0.25 * 1 / 0.5);
    CHECK(same_bits(host(k, k.run.weight), expected));
  }
}

TEST_CASE("hyper-parameters of any number of groups reach the device") {
  Context ctx(test::fast_context(1));
  for (const std::size_t groups : {1U, 32U, 33U, 100U}) {
    CAPTURE(groups);
    std::vector<GroupHypers> values(groups);
    for (std::size_t g = 0; g < groups; ++g) values[g].lr = static_cast<float>(g + 1);
    DeviceArray<GroupHypers> there(ctx.persistent(), static_cast<std::int64_t>(groups));
    kernels::write_hypers(ctx, values, there);
    for (std::size_t g = 0; g < groups; ++g)
      CHECK(there.at(static_cast<std::int64_t>(g)).read(ctx).lr == values[g].lr);
  }
}

TEST_CASE("optimizer updates refuse mismatched operands") {
  Case k({.threads = 1}, 32, DType::f16);
  Tensor none;
  CHECK_THROWS_AS(kernels::sgd_step(k.ctx, k.run, none, true), Error);
  CHECK_THROWS_AS(kernels::adam_step(k.ctx, k.run, k.a, none), Error);
  Tensor shorter = zeros(k.ctx.persistent(), {31});
  CHECK_THROWS_WITH_AS(
      kernels::sgd_step(k.ctx, k.run, shorter, false), doctest::Contains("(31)"), ShapeError);
  kernels::OptimTensors run = k.run;
  run.grad = shorter;
  CHECK_THROWS_AS(kernels::sgd_step(k.ctx, run, none, false), ShapeError);
  run = k.run;
  run.grad = zeros(k.ctx.persistent(), {32}, DType::f16);
  CHECK_THROWS_AS(kernels::sgd_step(k.ctx, run, none, false), DTypeError);
  run = k.run;
  run.half = zeros(k.ctx.persistent(), {32}, DType::f32);
  CHECK_THROWS_AS(kernels::sgd_step(k.ctx, run, none, false), DTypeError);
  run = k.run;
  run.weight = run.grad = zeros(k.ctx.persistent(), {32}, DType::f16);
  CHECK_THROWS_WITH_AS(kernels::sgd_step(k.ctx, run, none, false),
                       doctest::Contains("of f32 weights, not f16 of f16"),
                       DTypeError);
  run.half = {};
  CHECK_THROWS_AS(kernels::sgd_step(k.ctx, run, k.a, false), DTypeError);
  run.weight = run.grad = zeros(k.ctx.persistent(), {32}, DType::f64);
  CHECK_THROWS_AS(kernels::sgd_step(k.ctx, run, none, false), DTypeError);
  run = k.run;
  run.hypers = {};
  CHECK_THROWS_WITH_AS(kernels::sgd_step(k.ctx, run, none, false),
                       doctest::Contains("the control block is not allocated"),
                       Error);
  DeviceArray<GroupHypers> two(k.ctx.persistent(), 2);
  CHECK_THROWS_WITH_AS(kernels::write_hypers(k.ctx, std::array{GroupHypers{}}, two),
                       doctest::Contains("1 groups, but memory for 2"),
                       ShapeError);
  CHECK_THROWS_AS((void)two.at(2), ShapeError);
}
