#include "callbacks/precision/mixed_precision.h"

#include "callbacks/diagnose/inject.h"
#include "callbacks/lambda.h"
#include "framework/kernels/cast/fill.h"
#include "framework/tensor/factory.h"
#include "tests/callbacks/layered_net.h"
#include "tests/callbacks/net_training.h"
#include "tests/learner/tracer.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

using namespace tiny;
using namespace learn::callbacks;

namespace {

std::vector<std::int64_t> batches(std::size_t count) { return std::vector<std::int64_t>(count, 2); }

/// The loss scale after each step of `steps`, with overflows in the batches of `bad`, from 1.
std::vector<float> scales_of(const MixedPrecisionOptions& options,
                             std::size_t steps,
                             const std::string& bad) {
  Training t(batches(steps), {});
  t.learn.add<MixedPrecision>(options);
  t.learn.add<FaultInjection>(parse_faults(bad));
  std::vector<float> seen;
  on(t.learn, Event::step_end, [&](Learner& l) {
    const StepControl control = l.optimizer().read_control();
    CHECK(control.inverse_scale == 1 / control.loss_scale);
    seen.push_back(control.loss_scale);
  });
  t.learn.fit(1, 0.01);
  return seen;
}

/// The masters after `epochs` epochs of the net in the given precision.
std::vector<double> trained(const std::optional<MixedPrecisionOptions>& options,
                            std::int64_t epochs = 2) {
  NetTraining t;
  if (options) t.learn.add<MixedPrecision>(*options);
  t.learn.fit(epochs, 0.05);
  return values(t.learn.params().flat_master());
}

}  // namespace

TEST_CASE("an overflow at step 7 leaves no trace, halves the scale, and the run continues") {
  for (const bool flat : {false, true}) {
    CAPTURE(flat);
    Training t(batches(12), {}, with_momentum());
    // The scale 512 times a slope of some 500 is beyond the largest half, 65504; the prediction
    // and the loss are not.
    t.train.gain_of_batch = [](std::size_t batch) { return batch == 6 ? 2000.0 : 1.0; };
    t.learn.add<MixedPrecision>(MixedPrecisionOptions{.loss_scale = 512.0F, .flat_master = flat});
    std::optional<Snapshot> before;
    std::vector<float> scales;
    std::vector<std::int64_t> steps;
    double overflow_loss = 0;
    on(t.learn, Event::batch_begin, [&](Learner& l) {
      if (l.progress().batch_in_pass == 6) before.emplace(l);
    });
    on(t.learn, Event::batch_end, [&](Learner& l) {
      scales.push_back(l.optimizer().read_control().loss_scale);
      steps.push_back(l.progress().step_clock);
      if (l.progress().batch_in_pass != 6) return;
      overflow_loss = get(l.batch().loss.value(), 0);
      CHECK(l.progress().batch_clock == 7);
      REQUIRE(before);
      CHECK(Snapshot(l) == *before);
      CHECK(before->states.size() == 1);  // momentum
    });
    t.learn.fit(1, 0.01);
    CHECK(std::isfinite(overflow_loss));
    CHECK(scales == std::vector<float>{512, 512, 512, 512, 512, 512, 256, 256, 256, 256, 256, 256});
    CHECK(steps == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11});
    CHECK(t.learn.progress().batch_clock == 12);
    CHECK(t.learn.optimizer().read_control().skipped == 1);
    CHECK_FALSE(Snapshot(t.learn).masters == before->masters);
  }
}

TEST_CASE("the loss scale takes every turn: growth, ceiling, shrink, floor") {
  MixedPrecisionOptions options;
  options.loss_scale = 4.0F;
  options.scaling.growth_interval = 2;
  options.scaling.ceiling = 16;
  const std::vector<float> seen = scales_of(options, 13, "overflow@7-11");
  CHECK(seen == std::vector<float>{4, 8, 8, 16, 16, 16, 8, 4, 2, 1, 1, 1, 2});
  // One clean step before an overflow does not count afterwards.
  CHECK(scales_of(options, 5, "nan@2") == std::vector<float>{4, 2, 2, 4, 4});
}

TEST_CASE("a static scale stays constant, and bf16 does not use one") {
  MixedPrecisionOptions options;
  options.scaling.dynamic = false;
  options.scaling.growth_interval = 1;
  CHECK(scales_of(options, 4, "overflow@2-3") == std::vector<float>{512, 512, 512, 512});
  CHECK(scales_of({.dtype = DType::bf16}, 3, "overflow@2") == std::vector<float>{1, 1, 1});
  CHECK(MixedPrecision().options().loss_scale == 65536.0F);
}

TEST_CASE("half training follows f32 training") {
  const std::vector<double> full = trained(std::nullopt);
  // Weights of order 1, six steps through a BatchNorm over four samples, which amplifies roundings:
  // ten of them, of 11 bits (f16) and 8 bits (bf16). A lost step is a hundred times larger.
  CHECK(distance(trained(MixedPrecisionOptions{.loss_scale = 1024.0F}), full) < 10 * 0x1p-11);
  CHECK(distance(trained(MixedPrecisionOptions{.dtype = DType::bf16}), full) < 10 * 0x1p-8);
}

TEST_CASE("flat masters give the same bits") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(dtype);
    CHECK(trained(MixedPrecisionOptions{.dtype = dtype, .flat_master = false}) ==
          trained(MixedPrecisionOptions{.dtype = dtype, .flat_master = true}));
  }
}

TEST_CASE("a power of two as loss scale changes no bit while nothing underflows") {
  MixedPrecisionOptions one;
  one.scaling.dynamic = false;
  one.loss_scale = 64.0F;
  MixedPrecisionOptions two = one;
  two.loss_scale = 128.0F;
  // Gradients below the smallest normal half times 64 would be rounded differently: allow those.
  CHECK(distance(trained(one), trained(two)) < 1e-6);
}

TEST_CASE("two fits equal one, and the scale continues") {
  NetTraining twice;
  MixedPrecisionOptions options;
  options.scaling.growth_interval = 2;
  options.loss_scale = 8.0F;
  twice.learn.add<MixedPrecision>(options);
  twice.learn.fit(1, 0.05);
  CHECK(twice.learn.optimizer().read_control().loss_scale == 16);
  twice.learn.fit(1, 0.05);
  CHECK(twice.learn.optimizer().read_control().loss_scale == 64);
  CHECK(values(twice.learn.params().flat_master()) == trained(options));
}

TEST_CASE("a run that continues from saved state gives the same bits, scale included") {
  MixedPrecisionOptions options;
  options.scaling.growth_interval = 2;
  options.loss_scale = 8.0F;
  NetTraining first;
  first.learn.add<MixedPrecision>(options);
  first.learn.fit(1, 0.05);
  const test::MemoryState state = test::save(first.ctx, first.learn);
  first.learn.fit(1, 0.05);

  NetTraining second;
  second.learn.add<MixedPrecision>(options);
  test::load(second.ctx, state, second.learn);
  CHECK(second.learn.progress().batch_clock == 3);
  CHECK(second.learn.progress().step_clock == 3);
  CHECK(second.learn.progress().epoch_clock == 1);
  CHECK(second.learn.optimizer().read_control().loss_scale == 16);
  second.learn.fit(1, 0.05);
  CHECK(Snapshot(second.learn) == Snapshot(first.learn));
  CHECK(second.learn.optimizer().read_control().loss_scale == 64);
}

TEST_CASE("the model is f32 outside of fits, however they end") {
  NetTraining t;
  t.learn.add<MixedPrecision>();
  const auto is_f32 = [&] {
    check_one_source_of_truth(t.learn);
    return t.learn.params().working_dtype() == DType::f32 && t.learn.optimizer().options().flat;
  };
  on(t.learn, Event::batch_begin, [](Learner& l) {
    CHECK(l.params().working_dtype() == DType::f16);
    CHECK(l.batch().x.dtype() == DType::f16);
  });
  t.learn.fit(1, 0.05);
  CHECK(is_f32());
  t.learn.validate();
  CHECK(is_f32());
  for (const Event event : {Event::train_begin,
                            Event::batch_begin,
                            Event::backward_end,
                            Event::step_begin,
                            Event::validate_begin,
                            Event::epoch_end}) {
    CAPTURE(name_of(event));
    const auto& cancel = t.learn.add<Once>(event, true, [](Learner& l) { l.cancel(Scope::train); });
    t.learn.fit(1, 0.05);
    CHECK(is_f32());
    t.learn.remove(cancel);
    const auto& fault = t.learn.add<Once>(event, true, [](Learner&) { throw IoError("disk"); });
    CHECK_THROWS_AS(t.learn.fit(1, 0.05), IoError);
    CHECK(is_f32());
    t.learn.remove(fault);
  }
}

TEST_CASE("whether updates are flat is the optimizer's own choice again after a fit") {
  for (const bool own : {true, false}) {
    NetTraining t;
    t.learn.optimizer().set_flat(own);
    t.learn.add<MixedPrecision>(MixedPrecisionOptions{.flat_master = !own});
    on(t.learn, Event::batch_begin, [&](Learner& l) {
      if (l.progress().training) CHECK(l.optimizer().options().flat == !own);
    });
    t.learn.fit(1, 0.05);
    CHECK(t.learn.optimizer().options().flat == own);
  }
}

TEST_CASE("validation outside of a fit uses the precision of the one inside") {
  NetTraining t;
  t.learn.add<MixedPrecision>();
  t.learn.fit(1, 0.05);
  const double inside = t.learn.results().valid_loss;
  t.learn.validate();
  CHECK(t.learn.results().valid_loss == inside);
  CHECK(t.learn.get_preds(t.valid).loss == inside);
  to_fp32(t.learn);
  t.learn.validate();
  CHECK(t.learn.results().valid_loss != inside);
  CHECK(t.learn.results().valid_loss == doctest::Approx(inside).epsilon(0.01));  // 11 bits
}

TEST_CASE("the recorded loss is not scaled") {
  const auto losses = [](bool half) {
    NetTraining t;
    if (half) to_fp16(t.learn, {.loss_scale = 1024.0F});
    std::vector<double> out;
    on(t.learn, Event::batch_end, [&](Learner& l) {
      out.push_back(get(l.batch().loss.value(), 0));
    });
    t.learn.fit(1, 0);
    out.push_back(t.learn.results().train_loss);
    return out;
  };
  CHECK(distance(losses(true), losses(false)) < 0.01);  // of order 1, in 11 bits
}

TEST_CASE("gradients at step_begin equal those of f32") {
  const auto grads = [](bool half) {
    NetTraining t({4});
    if (half) to_fp16(t.learn, {.loss_scale = 1024.0F});
    std::vector<double> out;
    on(t.learn, Event::step_begin, [&](Learner& l) { out = values(l.grads().flat_grad()); });
    t.learn.fit(1, 0.05);
    return out;
  };
  CHECK(distance(grads(true), grads(false)) < 0.01);  // of order 1, in 11 bits
}

TEST_CASE("layer groups with separate rates, frozen layers and empty groups") {
  for (const bool flat : {false, true}) {
    for (const bool half : {false, true}) {
      for (int first = 0; first < 3; ++first) {
        CAPTURE(flat);
        CAPTURE(half);
        CAPTURE(first);
        NetTraining t;
        if (half)
          t.learn.add<MixedPrecision>(
              MixedPrecisionOptions{.loss_scale = 1024.0F, .flat_master = flat});
        // Group 1 is BatchNorm alone: its group of weights is empty.
        t.learn.split({"norm", "last"});
        t.learn.freeze_to(first);
        nn::ParamStore& params = t.learn.params();
        std::vector<std::vector<double>> before;
        for (std::int64_t i = 0; i < params.size(); ++i) before.push_back(values(params.master(i)));
        on(t.learn, Event::batch_end, check_one_source_of_truth);
        on(t.learn, Event::step_begin, [](Learner& l) {
          CHECK(l.optimizer().lr(0) == 0.001F);
          CHECK(l.optimizer().lr(2) == 0.1F);
        });
        t.learn.fit(1, range(0.001, 0.1));
        for (std::int64_t i = 0; i < params.size(); ++i) {
          CAPTURE(params.info(i).name);
          const bool same = values(params.master(i)) == before[static_cast<std::size_t>(i)];
          CHECK(same != params.slot(i).trainable);
        }
        t.learn.unfreeze();
        t.learn.fit(1, range(0.001, 0.1));
        CHECK(t.learn.optimizer().read_control().skipped == 0);
      }
    }
  }
}

TEST_CASE("an epoch without a single update at the floor is an error") {
  Training t(batches(3), {});
  MixedPrecisionOptions options;
  options.loss_scale = 1.0F;
  t.learn.add<MixedPrecision>(options);
  t.train.gain_of_batch = [](std::size_t) { return INFINITY; };
  CHECK_THROWS_AS(t.learn.fit(1, 0.01), DivergedError);
  CHECK(t.learn.params().working_dtype() == DType::f32);
}

TEST_CASE("asking for scaled gradients after mixed precision names both") {
  Training t;
  t.learn.add<MixedPrecision>();
  t.learn.add<Once>(Event::backward_end, true, [](Learner& l) { (void)l.scaled_grads(); });
  CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.1),
                       doctest::Contains("'once' at backward_end: asked for scaled gradients, but "
                                         "'mixed_precision' has already unscaled them"),
                       std::logic_error);
}

TEST_CASE("short forms replace each other, two precisions are refused by name") {
  Training t;
  to_fp16(t.learn);
  to_fp16(t.learn, {.flat_master = true});
  CHECK(t.learn.find<MixedPrecision>()->options().flat_master);
  to_bf16(t.learn);
  CHECK(t.learn.find<MixedPrecision>()->options().dtype == DType::bf16);
  t.learn.fit(1, 0.1);
  CHECK_THROWS_WITH_AS(t.learn.add<MixedPrecision>(),
                       "callbacks 'mixed_precision' and 'mixed_precision' both set the precision: "
                       "remove one of them",
                       UsageError);
  to_fp32(t.learn);
  CHECK(t.learn.find<MixedPrecision>() == nullptr);
  to_fp32(t.learn);
}

TEST_CASE("contradicting options are refused") {
  const auto make = [](const MixedPrecisionOptions& o) { const MixedPrecision made(o); };
  CHECK_THROWS_AS(make({.dtype = DType::f32}), UsageError);
  CHECK_THROWS_AS(make({.dtype = DType::bf16, .loss_scale = 512.0F}), UsageError);
  CHECK_THROWS_AS(make({.dtype = DType::bf16, .scaling = {.floor = 5}}), UsageError);
  CHECK_THROWS_WITH_AS(make({.loss_scale = 1e-39F, .scaling = {.dynamic = false}}),
                       doctest::Contains("reciprocal"),
                       UsageError);
  CHECK_NOTHROW(make({.dtype = DType::bf16, .max_skips = 3}));
  CHECK_THROWS_AS(make({.loss_scale = 0.0F}), UsageError);
  CHECK_THROWS_AS(make({.loss_scale = 0x1p25F}), UsageError);
  CHECK_THROWS_AS(make({.scaling = {.growth_factor = 1}}), UsageError);
  CHECK_THROWS_AS(make({.scaling = {.growth_interval = 0}}), UsageError);
  CHECK_THROWS_AS(make({.max_skips = 0}), UsageError);
}

TEST_CASE("a half model sees masters that a handler has written before a pass") {
  LayeredTraining t({4, 4});
  to_fp16(t.learn, {.loss_scale = 1.0F});
  const auto write = [](Learner& l) {
    Tensor master = l.params().master(l.params().find("first.weight"));
    kernels::fill(l.context(), master, 0.5);
  };
  const auto sees_it = [](Learner& l) {
    const std::vector<double> half = values(l.params().slot(l.params().find("first.weight")).value);
    return std::ranges::all_of(half, [](double v) { return v == 0.5; });
  };
  std::string seen;
  on(t.learn, Event::epoch_begin, write);
  on(t.learn, Event::validate_begin, write);
  on(t.learn, Event::batch_begin, [&](Learner& l) {
    if (l.progress().batch_in_pass == 0)
      seen += std::string(l.progress().training ? "t" : "v") + (sees_it(l) ? "y " : "n ");
  });
  t.learn.fit(2, 0.1);
  CHECK(seen == "ty vy ty vy ");
}
