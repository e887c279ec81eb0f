#include "callbacks/precision/pure_half.h"

#include "callbacks/ema.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/report/step_norms.h"
#include "framework/learner/history/recorder.h"
#include "framework/optim/adam.h"
#include "framework/optim/rmsprop.h"
#include "tests/callbacks/net_training.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

using namespace tiny;
using namespace learn::callbacks;

namespace {

constexpr std::array kHalves{DType::f16, DType::bf16};

/// Half a unit in the last place of a number of order 1.
double rounding_of(DType half) { return half == DType::f16 ? 0x1p-11 : 0x1p-8; }

void add_pure(Learner& l, DType half) { l.add<PureHalf>(PureHalfOptions{.dtype = half}); }

using Prepare = std::function<void(Learner&)>;

std::vector<double> trained(const Prepare& prepare, std::vector<std::int64_t> sizes = {4, 4, 4}) {
  NetTraining t(std::move(sizes));
  prepare(t.learn);
  t.learn.fit(2, 0.05);
  return values(t.learn.params().flat_master());
}

bool all_halves(const std::vector<double>& numbers, DType half) {
  return std::ranges::all_of(numbers, [half](double v) {
    const auto value = static_cast<float>(v);
    return v == static_cast<double>(half == DType::f16 ? to_float(to_half(value))
                                                       : to_float(to_bfloat16(value)));
  });
}

}  // namespace

TEST_CASE("pure half: weights, gradients and state are halves, and norms compute in f32") {
  for (const DType half : kHalves) {
    CAPTURE(half);
    NetTraining t;
    add_pure(t.learn, half);
    std::int64_t seen = 0;
    on(t.learn, Event::step_begin, [&](Learner& l) {
      ++seen;
      nn::ParamStore& params = l.params();
      CHECK(params.working_dtype() == half);
      CHECK(params.master_dtype() == half);
      CHECK(params.flat_grad().dtype() == half);
      CHECK_FALSE(params.flat_half().defined());
      for (const auto& [name, state] : params.states()) CHECK(state.values.dtype() == half);
      for (std::int64_t i = 0; i < params.size(); ++i) {
        CAPTURE(params.info(i).name);
        CHECK(params.slot(i).value.same_memory(params.master(i)));
        CHECK(params.slot(i).grad.same_memory(params.master_grad(i)));
        CHECK(params.slot(i).widened == nn::is_norm(params.info(i).role));
      }
      CHECK(params.flat_buffers().dtype() == DType::f32);
      CHECK(l.batch().x.dtype() == half);
      CHECK(l.batch().pred.dtype() == DType::f32);
      CHECK(l.batch().loss.dtype() == DType::f32);
    });
    t.learn.fit(1, 0.05);
    CHECK(seen == 3);
    CHECK(t.learn.params().working_dtype() == DType::f32);
    CHECK(t.learn.params().master_dtype() == DType::f32);
    CHECK(all_halves(values(t.learn.params().flat_master()), half));
    for (const auto& [name, state] : t.learn.params().states())
      CHECK(all_halves(values(state.values), half));
  }
}

TEST_CASE("pure half training follows f32 training, further away than with masters") {
  const std::vector<double> full = trained([](Learner&) {});
  for (const DType half : kHalves) {
    CAPTURE(half);
    const double pure = distance(trained([=](Learner& l) { add_pure(l, half); }), full);
    const double mixed =
        distance(trained([=](Learner& l) {
                   half == DType::f16 ? void(to_fp16(l, {.loss_scale = 1.0F})) : void(to_bf16(l));
                 }),
                 full);
    // Six updates of weights and momentum, each rounded, in addition to the roundings of the model.
    CHECK(pure < 20 * rounding_of(half));
    CHECK(pure > mixed);
  }
}

TEST_CASE("pure half: an update below half a unit in the last place is lost") {
  for (const DType half : kHalves)
    for (const bool lost : {false, true}) {
      CAPTURE(half);
      NetTraining t;
      nn::ParamStore& params = t.learn.params();
      for (std::int64_t i = 0; i < params.size(); ++i) {
        Tensor master = params.master(i);
        for (std::int64_t k = 0; k < master.elements(); ++k) set(master, k, 1);
      }
      add_pure(t.learn, half);
      // Below 1 a unit is half as large as above.
      const double update = rounding_of(half) / 2 * (lost ? 0.9 : 1.1);
      on(t.learn, Event::step_begin, [&](Learner& l) {
        for (std::int64_t i = 0; i < l.params().size(); ++i) {
          Tensor grad = l.params().master_grad(i);
          for (std::int64_t k = 0; k < grad.elements(); ++k) set(grad, k, 1);
        }
      });
      t.learn.optimizer().set_momentum(0);
      t.learn.optimizer().set_weight_decay(0);
      t.learn.fit(1, static_cast<float>(update));
      const double left = get(params.master(0), 0);
      CHECK(left == (lost ? 1 : 1 - 3 * rounding_of(half)));
    }
}

TEST_CASE("pure half: every optimizer, clipping, accumulation and norms") {
  struct Case {
    const char* name;
    optim::OptimizerFactory optimizer;
  };
  const std::vector<Case> optimizers{
      {"sgd", optim::sgd({.momentum = 0.9F, .nesterov = true})},
      {"adam", optim::adam()},
      {"rmsprop", optim::rmsprop({.momentum = 0.9F, .centered = true})}};
  for (const Case& one : optimizers)
    for (const DType half : kHalves) {
      CAPTURE(one.name);
      CAPTURE(half);
      LearnerOptions options;
      options.optimizer = one.optimizer;
      LayeredTraining t({4, 4, 4, 4}, options);
      add_pure(t.learn, half);
      t.learn.add<GradientClip>(half == DType::f16 ? 1.0F : 0.01F,
                                half == DType::f16 ? ClipBy::norm : ClipBy::value);
      t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
      t.learn.add<Recorder>();
      t.learn.add<StepNorms>();
      const std::vector<double> before = values(t.learn.params().flat_master());
      t.learn.fit(2, 0.01);
      const std::vector<double> after = values(t.learn.params().flat_master());
      CHECK(all_halves(after, half));
      CHECK(distance(before, after) > 0.001);
      CHECK(distance(before, after) < 1);
      REQUIRE(t.learn.results().metrics.size() == 2);
      for (const auto& [metric, value] : t.learn.results().metrics) CHECK(value > 0);
    }
}

TEST_CASE("pure half: a module that keeps f32 computes in f32 with half weights") {
  NetTraining t;
  t.learn.keep_f32({"first"});
  add_pure(t.learn, DType::f16);
  struct Dtypes final : ForwardObserver {
    void forwarded(const nn::Module& module, const Var& in, const Var& out) override {
      if (module.path() == "first") seen.emplace_back(in.dtype(), out.dtype());
    }
    std::vector<std::pair<DType, DType>> seen;
  } dtypes;
  t.learn.tape().observe(&dtypes);
  on(t.learn, Event::step_begin, [&](Learner& l) {
    const std::int64_t i = l.params().find("first.weight");
    CHECK(l.params().slot(i).value.dtype() == DType::f16);
    CHECK(l.params().slot(i).widened);
  });
  t.learn.fit(1, 0.05);
  t.learn.tape().observe(nullptr);
  REQUIRE_FALSE(dtypes.seen.empty());
  CHECK(dtypes.seen.front() == std::pair(DType::f16, DType::f16));
  NetTraining same;
  add_pure(same.learn, DType::f16);
  same.learn.fit(1, 0.05);
  CHECK(values(same.learn.params().flat_master()) != values(t.learn.params().flat_master()));
}

TEST_CASE("pure half: a validation outside of a fit rounds nothing") {
  NetTraining t;
  t.learn.fit(1, 0.05);
  const Snapshot before(t.learn);
  add_pure(t.learn, DType::bf16);
  t.learn.validate();
  CHECK(Snapshot(t.learn) == before);
  CHECK_FALSE(all_halves(before.masters, DType::bf16));
}

TEST_CASE("pure half: validation in the fit and after it give the same") {
  for (const DType half : kHalves) {
    NetTraining t;
    add_pure(t.learn, half);
    t.learn.fit(2, 0.05);
    const double in_fit = t.learn.results().valid_loss;
    t.learn.validate();
    CHECK(t.learn.results().valid_loss == in_fit);
  }
}

TEST_CASE("pure half: an average of the weights stays f32 and moves") {
  NetTraining t({4, 4, 4, 4});
  add_pure(t.learn, DType::bf16);
  t.learn.add<Ema>(EmaOptions{.decay = 0.99, .warmup = false});
  on(t.learn, Event::step_begin, [](Learner& l) {
    CHECK(l.params().state("ema", true).dtype() == DType::f32);
  });
  const std::vector<double> before = values(t.learn.params().flat_master());
  t.learn.fit(2, 0.001);
  const std::vector<double> average = values(t.learn.params().state("ema", true));
  CHECK_FALSE(all_halves(average, DType::bf16));
  CHECK(average != before);
  CHECK(all_halves(values(t.learn.params().flat_master()), DType::bf16));
}

TEST_CASE("pure half resumes to the bit from a state of f32") {
  for (const DType half : kHalves) {
    NetTraining straight;
    add_pure(straight.learn, half);
    straight.learn.fit(2, 0.05);

    NetTraining first;
    add_pure(first.learn, half);
    test::MemoryState state;
    auto& stop = on(first.learn, Event::batch_end, [&](Learner& l) {
      if (!l.progress().training || l.progress().batch_clock != 4) return;
      state = test::save(first.ctx, l);  // of the halves, in the middle of the fit
      l.cancel(Scope::train);
    });
    first.learn.fit(2, 0.05);
    first.learn.remove(stop);
    for (const auto& [name, tensor] : state.tensors) CHECK_FALSE(is_half(tensor.dtype()));

    NetTraining second;
    add_pure(second.learn, half);
    test::load(second.ctx, state, second.learn);
    second.learn.resume();
    second.learn.fit(2, 0.05);
    CHECK(Snapshot(second.learn) == Snapshot(straight.learn));
  }
}

TEST_CASE("pure half: the short forms replace what was there, and a bad dtype is refused") {
  NetTraining t;
  to_fp16(t.learn);
  to_pure_bf16(t.learn);
  CHECK(t.learn.find<MixedPrecision>() == nullptr);
  CHECK(t.learn.find<PureHalf>()->options().dtype == DType::bf16);
  CHECK(to_pure_fp16(t.learn).options().dtype == DType::f16);
  CHECK(t.learn.find<PureHalf>()->precision()->name == "pure-fp16");
  to_native_bf16(t.learn);
  CHECK(t.learn.find<PureHalf>() == nullptr);
  to_fp32(t.learn);
  CHECK(t.learn.find<PrecisionCallback>() == nullptr);
  CHECK_THROWS_WITH_AS(PureHalf({.dtype = DType::f32}),
                       doctest::Contains("pure half precision needs f16 or bf16, not f32"),
                       UsageError);
}
