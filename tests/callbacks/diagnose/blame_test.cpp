#include "callbacks/diagnose/blame.h"

#include "callbacks/diagnose/first_non_finite.h"
#include "callbacks/diagnose/inject.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/precision/pure_half.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/learner/history/recorder.h"
#include "framework/tensor/factory.h"
#include "tests/callbacks/layered_net.h"
#include "tests/learner/tracer.h"
#include "tests/support/log_file.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

using namespace tiny;
using namespace learn::callbacks;

namespace {

/// A LayeredNet with something random in it.
class RandomNet final : public nn::Module {
 public:
  explicit RandomNet(const nn::Scope& scope)
      : Module(scope),
        first_(scope / "first", kFeatures, 8, {.bias = false}),
        norm_(scope / "norm", 8),
        drop_(scope / "drop", 0.5),
        last_(scope / "last", 8, kFeatures) {}
  [[nodiscard]] std::string describe() const override { return "RandomNet"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return last_(drop_(norm_(first_(x)))); }

 private:
  nn::Linear first_;
  nn::BatchNorm1d norm_;
  nn::Dropout drop_;
  nn::Linear last_;
};

struct RandomTraining : Training {
  explicit RandomTraining(std::vector<std::int64_t> sizes)
      : Training(std::move(sizes),
                 {4},
                 {},
                 nn::make_model<RandomNet>("net", {kFeatures}, static_cast<int>(kFeatures))) {}
};

std::vector<std::int64_t> batches(std::size_t count) { return std::vector<std::int64_t>(count, 4); }

/// The reports of a fit of eight batches in half precision, with these faults.
std::vector<BlameReport> reports_of(const std::string& faults,
                                    const MixedPrecisionOptions& options = {.loss_scale = 64.0F},
                                    std::int64_t limit = Blame::kUsualLimit) {
  LayeredTraining t(batches(8));
  t.learn.add<MixedPrecision>(options);
  t.learn.add<FaultInjection>(parse_faults(faults));
  t.learn.add<Recorder>();
  const auto& blame = t.learn.add<Blame>(limit);
  t.learn.fit(1, 0.01);
  return blame.reports();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// All that a fit leaves and that later batches read.
struct Left {
  explicit Left(Learner& l)
      : masters(values(l.params().flat_master())), buffers(values(l.params().flat_buffers())) {
    for (auto& [name, state] : l.params().states()) states.push_back(values(state.values));
  }
  bool operator==(const Left&) const = default;
  std::vector<double> masters, buffers;
  std::vector<std::vector<double>> states;
};

}  // namespace

TEST_CASE("the layer is named whose gradient is the first that is not finite") {
  const std::vector<BlameReport> reports = reports_of("overflow@5:norm");
  REQUIRE(reports.size() == 1);
  const BlameReport& report = reports.front();
  CHECK(report.step.batch == 5);
  CHECK(report.step.event == StepEvent::overflow);
  CHECK(report.replay.inputs_finite);
  CHECK(report.replay.first_output.empty());
  CHECK(report.replay.loss == report.loss);
  CHECK(report.replay.first_gradient == "the gradient of the output of 'norm', BatchNorm1d(8)");
  const std::vector<std::string> names{"norm.bias", "norm.weight", "first.weight"};
  CHECK(report.replay.parameters == names);
  CHECK(report.parameters.size() == names.size());
  CHECK(has(report.text,
            "batch 5, in epoch 1, was skipped: at a loss scale of 64, which had worked before\n  "
            "cause: the gradient of the output of 'norm', BatchNorm1d(8), is the first that is not "
            "finite, in the backward pass\n  gradients that are not finite: 3 (norm.bias, "
            "norm.weight, first.weight)\n  largest finite value: "));
  CHECK(has(report.text, "\n  the largest finite f16 is 65504"));
}

TEST_CASE("each layer is found, in f16 and in bf16") {
  const MixedPrecisionOptions half{.loss_scale = 64.0F};
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const std::string layer : {"first", "norm", "last"}) {
      CAPTURE(dtype);
      CAPTURE(layer);
      const auto reports = reports_of(
          "nan@3:" + layer, dtype == DType::f16 ? half : MixedPrecisionOptions{.dtype = dtype});
      REQUIRE(reports.size() == 1);
      CHECK(has(reports[0].replay.first_gradient, "the gradient of the output of '" + layer + "'"));
      CHECK(has(reports[0].text, dtype == DType::bf16 ? "there is no loss scale" : "scale of 64,"));
    }
}

TEST_CASE("a fault in the forward pass is reported first") {
  for (const std::string layer : {"first", "norm", "last"}) {
    CAPTURE(layer);
    const auto reports = reports_of("overflow_act@3:" + layer);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].step.event == StepEvent::bad_loss);
    CHECK(has(reports[0].replay.first_output, "the output of '" + layer + "'"));
    CHECK(has(reports[0].text, "the loss itself is not finite; a loss scale cannot fix that"));
    CHECK(has(reports[0].text, "is the first that is not finite, in the forward pass"));
  }
}

TEST_CASE("a gradient of a parameter that overflows by itself is named") {
  Training t(batches(4), {});
  // The prediction and its gradient are within f16; their product with the inputs is not.
  t.train.gain_of_batch = [](std::size_t batch) { return batch == 2 ? 2000.0 : 1.0; };
  to_fp16(t.learn, {.loss_scale = 8.0F});
  t.learn.add<Recorder>();
  const auto& blame = t.learn.add<Blame>();
  t.learn.fit(1, 0.001);
  REQUIRE(blame.reports().size() == 1);
  const Replay& replay = blame.reports()[0].replay;
  CHECK(blame.reports()[0].step.batch == 3);
  CHECK(replay.first_output.empty());
  CHECK(replay.first_gradient == "the gradient of the parameter 'weight'");
  CHECK(replay.parameters == std::vector<std::string>{"weight"});
  // Scale's prediction is the larger part of its gradient: half of 2000 sines, over 4 samples.
  CHECK(replay.gradient.value > 1000);
  CHECK(std::isfinite(replay.gradient.value));
  CHECK(replay.output.value > 500);
  CHECK(replay.output.where == "the output of Scale");
}

TEST_CASE("inputs and gradients spoilt by others are distinguished") {
  const auto changed = reports_of("overflow@5");
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].replay.parameters.empty());
  CHECK(changed[0].parameters == std::vector<std::string>{"first.weight"});
  CHECK(has(changed[0].text,
            "cause: a callback changed gradients after the backward pass (this batch, run once "
            "more, is finite)\n  gradients that are not finite: 1 (first.weight)"));
  const auto loss = reports_of("inf_loss@5");
  REQUIRE(loss.size() == 1);
  CHECK(has(loss[0].text, "cause: a callback changed the loss (this batch"));

  LayeredTraining t(batches(4));
  to_fp16(t.learn, {.loss_scale = 64.0F});
  t.train.gain_of_batch = [](std::size_t batch) { return batch == 2 ? INFINITY : 1.0; };
  t.learn.add<Recorder>();
  const auto& blame = t.learn.add<Blame>();
  t.learn.fit(1, 0.01);
  REQUIRE(blame.reports().size() == 1);
  CHECK(has(blame.reports()[0].text, "cause: the batch's inputs are not finite\n"));
}

TEST_CASE("a batch of several with one step may not be the one") {
  LayeredTraining t(batches(4));
  to_fp16(t.learn, {.loss_scale = 64.0F});
  t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
  t.learn.add<FaultInjection>(parse_faults("overflow@3:norm"));
  t.learn.add<Recorder>();
  const auto& blame = t.learn.add<Blame>();
  t.learn.fit(1, 0.01);
  REQUIRE(blame.reports().size() == 1);
  CHECK(blame.reports()[0].step.batch == 4);
  CHECK(has(blame.reports()[0].text, "or it was another batch of the same step (this batch"));
  CHECK(has(blame.reports()[0].text, "(first.weight, norm.weight, norm.bias)"));
}

TEST_CASE("a scale that is being adjusted is reported as normal") {
  const auto reports = reports_of("nan@1:last,nan@4:last,nan@5:last",
                                  {.loss_scale = 64.0F, .scaling = {.growth_interval = 2}});
  REQUIRE(reports.size() == 3);
  CHECK(has(reports[0].text, "the loss scale of 64 is being adjusted, which is normal"));
  CHECK(has(reports[1].text, "the loss scale has grown to 64 and goes back, which is normal"));
  CHECK(has(reports[2].text, "at a loss scale of 32, which had worked before"));
  const auto fixed = reports_of("nan@2:last", {.scaling = {.dynamic = false}});
  REQUIRE(fixed.size() == 1);
  CHECK(has(fixed[0].text, "at a loss scale of 512, which stays"));
}

TEST_CASE("blame warns if no step can be skipped") {
  const auto warnings = [](void (*prepare)(Learner&)) {
    const test::LogFile log;
    LayeredTraining t({4, 4});
    prepare(t.learn);
    t.learn.add<Recorder>();
    t.learn.add<Blame>();
    t.learn.fit(1, 0.01);
    return log.count("skips no steps, so blame has nothing to explain");
  };
  CHECK(warnings([](Learner&) {}) == 1);
  CHECK(warnings([](Learner& l) { to_native_bf16(l); }) == 1);
  CHECK(warnings([](Learner& l) { to_pure_fp16(l); }) == 1);
  CHECK(warnings([](Learner& l) { to_native_fp16(l); }) == 0);
  CHECK(warnings([](Learner& l) { to_fp16(l); }) == 0);
  CHECK(warnings([](Learner& l) { to_bf16(l); }) == 0);
}

TEST_CASE("no more steps are explained than asked for, and the rest is counted") {
  const test::LogFile log;
  const auto reports = reports_of("nan@3-7:last", {.loss_scale = 64.0F}, 2);
  REQUIRE(reports.size() == 2);
  CHECK(reports[1].step.batch == 4);
  CHECK(has(log.text(),
            "[blame] 3 more steps were skipped but not inspected: their batches were no longer "
            "available, or 2 had been explained (limit=2)"));
  CHECK_THROWS_AS(const Blame none(0), UsageError);
  Training t;
  t.learn.add<Blame>();
  CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.1), doctest::Contains("add a Recorder"), UsageError);
}

TEST_CASE("explaining leaves no trace in weights, statistics, gradients and random numbers") {
  const auto left = [](bool blames, bool accumulates, DType dtype) {
    RandomTraining t(batches(9));
    t.learn.add<MixedPrecision>(MixedPrecisionOptions{.dtype = dtype});
    if (accumulates) t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
    t.learn.add<GradientClip>(1.0F);
    t.learn.add<FaultInjection>(parse_faults("overflow@3:norm,nan@4,overflow@8:last"));
    t.learn.add<Recorder>();
    auto& tracer = t.learn.add<Tracer>(10);
    if (blames) t.learn.add<Blame>();
    // State after all callbacks received the batch; the gradients are no longer needed.
    std::vector<double> seen;
    on(
        t.learn,
        Event::batch_end,
        [&](Learner& l) {
          for (Tensor* const flat : {&l.params().flat_grad(), &l.params().flat_half_grad()})
            for (const double v : values(*flat)) seen.push_back(std::isnan(v) ? 1e30 : v);
          for (std::int64_t i = 0; i < l.params().size(); ++i)
            seen.push_back(l.params().slot(i).has_grad() ? 1 : 0);
          for (const double v : values(l.params().flat_committed_buffers())) seen.push_back(v);
        },
        "after",
        order::kTracker);
    t.learn.fit(2, 0.05);
    if (blames) CHECK(t.learn.find<Blame>()->reports().size() >= 2);
    return std::tuple(
        Left(t.learn), seen, tracer.trace, t.learn.optimizer().read_control().skipped);
  };
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const bool accumulates : {false, true}) {
      CAPTURE(dtype);
      CAPTURE(accumulates);
      CHECK(left(true, accumulates, dtype) == left(false, accumulates, dtype));
    }
}

TEST_CASE("a replay has the same random numbers as the batch") {
  RandomTraining t(batches(6));
  to_fp16(t.learn, {.loss_scale = 64.0F});
  t.learn.add<FaultInjection>(parse_faults("nan@2:last,nan@5:first"));
  t.learn.add<Recorder>();
  const auto& blame = t.learn.add<Blame>();
  t.learn.fit(1, 0.05);
  REQUIRE(blame.reports().size() == 2);
  for (const BlameReport& report : blame.reports()) CHECK(report.replay.loss == report.loss);
  CHECK(blame.reports()[0].loss != blame.reports()[1].loss);
}

TEST_CASE("the end of a training at a NaN names the module that was made to give it") {
  LayeredTraining t(batches(4));
  t.learn.add<FaultInjection>(parse_faults("nan_act@3:norm"));
  const auto& guard = t.learn.add<TerminateOnNan>();
  t.learn.fit(1, 0.01);
  CHECK(guard.why() ==
        "the loss of epoch 1, batch 3 is nan (the output of 'norm', BatchNorm1d(8), is the first)");
}

namespace {

/// A module whose value is that of the last one inside of it, within another such module.
class NestedNet final : public nn::Module {
 public:
  explicit NestedNet(const nn::Scope& scope) : Module(scope), body_(scope / "body") {
    auto& prep = body_.emplace<nn::Sequential>();
    prep.emplace<nn::Linear>(kFeatures, 8);
    prep.emplace<nn::Linear>(8, 8);
    body_.emplace<nn::Linear>(8, kFeatures);
  }
  [[nodiscard]] std::string describe() const override { return "NestedNet"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return body_(x); }

 private:
  nn::Sequential body_;
};

}  // namespace

TEST_CASE("a fault in a module that contains others is not taken for one of the next module") {
  for (const auto& [place, module] :
       std::map<std::string, std::string>{{"body.0", "'body.0', Sequential"},
                                          {"body.0.1", "'body.0.1', Linear"},
                                          {"body.1", "'body.1', Linear"},
                                          {"body", "'body', Sequential"}}) {
    CAPTURE(place);
    for (const std::string fault : {"nan_act", "overflow_act"}) {
      Training t({4, 4, 4},
                 {4},
                 {},
                 nn::make_model<NestedNet>("net", {kFeatures}, static_cast<int>(kFeatures)));
      t.learn.add<FaultInjection>(parse_faults(fault + "@2:" + place));
      const auto& guard = t.learn.add<TerminateOnNan>();
      t.learn.fit(1, 0.01);
      CAPTURE(guard.why());
      CHECK(guard.why().find("(the output of " + module) != std::string::npos);
    }
  }
}
