#include "framework/backend/optim.h"

#include "framework/tensor/compare.h"
#include "framework/tensor/factory.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace learn;

namespace {

template <class T>
Tensor block(Arena& arena, const T& value) {
  Tensor bytes(arena, {static_cast<std::int64_t>(sizeof(T))}, DType::u8);
  std::memcpy(bytes.raw(), &value, sizeof(T));
  return bytes;
}

/// One run with random contents, the same for every context, and three state buffers.
struct Case {
  Context ctx;
  backend::OptimRun run;
  Tensor a, b, c;

  Case(bool reference, int threads, std::int64_t n, DType half, const StepControl& control = {})
      : ctx({.threads = threads, .reference = reference, .arena = {.guard = true}}) {
    Arena& arena = ctx.persistent();
    const auto random = [&](double low, double high, std::uint64_t stream) {
      return uniform(arena, {n}, DType::f32, low, high, 5, stream);
    };
    run.weight = random(-2, 2, 1);
    run.grad = random(-1, 1, 2);
    if (half != DType::f32) run.half = zeros(arena, {n}, half);
    run.hypers = block(arena,
                       GroupHypers{.lr = 0.01F,
                                   .momentum = 0.9F,
                                   .dampening = 0.25F,
                                   .beta2 = 0.95F,
                                   .eps = 1e-5F,
                                   .weight_decay = 0.1F});
    run.control = block(arena, control);
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
       backend::sgd_step(k.ctx, k.run, none, false);
     }},
    {"sgd momentum", [](Case& k) { backend::sgd_step(k.ctx, k.run, k.a, false); }},
    {"sgd nesterov", [](Case& k) { backend::sgd_step(k.ctx, k.run, k.a, true); }},
    {"adam", [](Case& k) { backend::adam_step(k.ctx, k.run, k.a, k.b); }},
    {"rmsprop",
     [](Case& k) {
       backend::RmsPropState state{.square = k.b};
       backend::rmsprop_step(k.ctx, k.run, state);
     }},
    {"rmsprop centered",
     [](Case& k) {
       backend::RmsPropState state{.square = k.b, .mean = k.c};
       backend::rmsprop_step(k.ctx, k.run, state);
     }},
    {"rmsprop momentum",
     [](Case& k) {
       backend::RmsPropState state{.square = k.b, .buffer = k.c};
       backend::rmsprop_step(k.ctx, k.run, state);
     }},
    {"rmsprop both",
     [](Case& k) {
       backend::RmsPropState state{.square = k.b, .mean = k.c, .buffer = k.a};
       backend::rmsprop_step(k.ctx, k.run, state);
     }},
};

void compare(const Case& fast, const Case& exact) {
  // Some ten f32 roundings, 2^-24 each, of values up to 2; divisions by numbers above 0.1.
  const auto close = [](const Tensor& a, const Tensor& b) {
    const Comparison compared = all_close(a, b, 1e-6, 1e-6);
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
    for (const std::int64_t n : {1, 15, 64, 1000, 100003})
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
            Case fast(false, 2, n, half, control);
            Case exact(true, 1, n, half, control);
            Case single(false, 1, n, half, control);
            for (Case* c : {&fast, &exact, &single}) {
              c->run.missed_steps = step > 1 ? 98 : 0;
              c->run.decoupled_decay = decoupled;
              kernel.run(*c);
            }
            compare(fast, exact);
            CHECK(same_bits(fast.run.weight, single.run.weight));
            CHECK(same_bits(fast.b, single.b));
            if (half == DType::f32) continue;
            for (std::int64_t i = 0; i < n; i += 101) {
              Tensor one = full(fast.ctx.step(), {1}, half, get(fast.run.weight, i));
              CHECK(get(fast.run.half, i) == get(one, 0));
            }
          }
}

TEST_CASE("a found infinity leaves an update without effect") {
  for (const Named& kernel : kKernels)
    for (const bool reference : {false, true}) {
      CAPTURE(kernel.name);
      Case skipped(reference, 1, 100, DType::f16, {.found_inf = 1});
      const Case untouched(reference, 1, 100, DType::f16);
      kernel.run(skipped);
      CHECK(same_bits(skipped.run.weight, untouched.run.weight));
      CHECK(same_bits(skipped.run.half, untouched.run.half));
      CHECK(same_bits(skipped.a, untouched.a));
      CHECK(same_bits(skipped.b, untouched.b));
      CHECK(same_bits(skipped.c, untouched.c));
    }
}

TEST_CASE("optimizer updates refuse what does not fit") {
  Case k(false, 1, 32, DType::f16);
  Tensor none;
  CHECK_THROWS_AS(backend::sgd_step(k.ctx, k.run, none, true), Error);
  CHECK_THROWS_AS(backend::adam_step(k.ctx, k.run, k.a, none), Error);
  Tensor shorter = zeros(k.ctx.persistent(), {31});
  CHECK_THROWS_WITH_AS(
      backend::sgd_step(k.ctx, k.run, shorter, false), doctest::Contains("(31)"), ShapeError);
  backend::OptimRun run = k.run;
  run.grad = shorter;
  CHECK_THROWS_AS(backend::sgd_step(k.ctx, run, none, false), ShapeError);
  run = k.run;
  run.grad = zeros(k.ctx.persistent(), {32}, DType::f16);
  CHECK_THROWS_AS(backend::sgd_step(k.ctx, run, none, false), DTypeError);
  run = k.run;
  run.half = zeros(k.ctx.persistent(), {32}, DType::f32);
  CHECK_THROWS_AS(backend::sgd_step(k.ctx, run, none, false), DTypeError);
  run = k.run;
  run.hypers = run.control;
  CHECK_THROWS_AS(backend::sgd_step(k.ctx, run, none, false), ShapeError);
}
