#include "callbacks/diagnose/inject.h"

#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/registry.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/core/seconds_since.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "tests/callbacks/layered_net.h"
#include "tests/learner/expected_trace.h"
#include "tests/learner/tracer.h"
#include "tests/support/log_file.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <map>

using namespace tiny;
using namespace learn::callbacks;

namespace {

/// How many elements are not finite.
std::int64_t bad_in(const Tensor& tensor) {
  std::int64_t bad = 0;
  for (const double v : values(tensor)) bad += std::isfinite(v) ? 0 : 1;
  return bad;
}

/// The parameters whose gradient is not finite when it is unscaled, in the batches of a fit of one
/// epoch: "first.weight norm.weight", with a '|' between batches.
std::string bad_gradients(const std::string& faults, bool half) {
  LayeredTraining t({4, 4});
  if (half) to_fp16(t.learn, {.loss_scale = 64.0F});
  t.learn.add<FaultInjection>(parse_faults(faults));
  std::string found;
  on(t.learn, Event::step_begin, [&](Learner& l) {
    nn::ParamStore& params = l.grads();
    for (std::int64_t i = 0; i < params.size(); ++i)
      if (bad_in(params.master_grad(i)) > 0) found += params.info(i).name + " ";
    found += "|";
  });
  t.learn.fit(1, 0);
  return found;
}

}  // namespace

TEST_CASE("faults are read with batch, place, amount and event") {
  const std::vector<Fault> all = parse_faults(
      "overflow@17,nan@23:layers.3,nan_act@25-27:a.b,overflow_act@1,spike@2,spike@3:0.5,inf_loss@4,"
      "slow@40,slow@40:2s,slow@41:500ms,throw@50,throw@51:step_end,kill@60:backward_end");
  REQUIRE(all.size() == 13);
  CHECK(all[0].kind == FaultKind::overflow);
  CHECK((all[0].first == 17 && all[0].last == 17 && all[0].place.empty()));
  CHECK((all[1].kind == FaultKind::nan && all[1].place == "layers.3"));
  CHECK((all[2].kind == FaultKind::nan_act && all[2].first == 25 && all[2].last == 27));
  CHECK(all[2].place == "a.b");
  for (const std::int64_t batch : {24, 25, 27, 28})
    CHECK(all[2].at(batch) == (batch / 28 + 24 / batch == 0));
  CHECK(all[3].kind == FaultKind::overflow_act);
  CHECK((all[4].kind == FaultKind::spike && all[4].amount == 1000 && all[5].amount == 0.5));
  CHECK(all[6].kind == FaultKind::inf_loss);
  CHECK((all[7].kind == FaultKind::slow && all[7].amount == 1 && all[8].amount == 2));
  CHECK(all[9].amount == 0.5);
  CHECK((all[10].kind == FaultKind::raise && all[10].event == Event::batch_begin));
  CHECK(all[11].event == Event::step_end);
  CHECK((all[12].kind == FaultKind::kill && all[12].event == Event::backward_end));
  CHECK(name_of(FaultKind::raise) == "throw");
}

TEST_CASE("faults that make no sense are refused with their place and what is possible") {
  const std::map<std::string, std::string> refused{
      {"", "character 1 of '': unknown fault ''"},
      {"overflow@3,nam@4",
       "character 12 of 'overflow@3,nam@4': unknown fault 'nam'; did you mean 'nan'? (known: "
       "overflow, nan, overflow_act, nan_act, spike, inf_loss, slow, throw, kill)"},
      {"nan", "character 4 of 'nan': 'nan' needs a batch, counted from 1: nan@17 or nan@17-20"},
      {"nan@:x", "character 5 of 'nan@:x': 'nan' needs a batch"},
      {"kill@0", "character 6 of 'kill@0': 0 is not at least 1"},
      {"nan@5-3", "character 7 of 'nan@5-3': 3 is not at least 5"},
      {"nan@5-", "character 7 of 'nan@5-': "},
      {"inf_loss@3:x", "character 12 of 'inf_loss@3:x': 'inf_loss' accepts only a batch"},
      {"spike@3:0", "character 9 of 'spike@3:0': 0 is not above 0"},
      {"slow@3:2m", "character 8 of 'slow@3:2m': a time must be like 2s or 500ms, not '2m'"},
      {"slow@3:9999s", "character 8 of 'slow@3:9999s': 9999 is not in [0, 3600]"},
      {"throw@3:step", "character 9 of 'throw@3:step': unknown event of a batch 'step'"}};
  for (const auto& [text, error] : refused)
    CHECK_THROWS_WITH_AS((void)parse_faults(text), doctest::Contains(error.c_str()), UsageError);
  CHECK_THROWS_WITH_AS((void)make_from_text("inject:faults=nan@x"),
                       doctest::Contains("inject: faults=nan@x: character 5 of 'nan@x'"),
                       UsageError);
  CHECK_THROWS_AS(const FaultInjection none({}), UsageError);
}

TEST_CASE("it throws at the requested event, before the other callbacks receive it") {
  const std::string whole = expected_trace({.epochs = 1});
  for (const EventInfo& info : kEventTable) {
    if (info.scope != Scope::batch && info.scope != Scope::step) continue;
    const std::string event(info.name);
    const std::string mark = " " + mark_of(info.event) + " ";
    const std::size_t second = whole.find(mark, whole.find(mark) + 1) + 1;
    CAPTURE(event);
    Training t;
    const auto& tracer = t.learn.add<Tracer>(order::kMixedPrecision);
    t.learn.add<FaultInjection>(parse_faults("throw@2:" + event));
    const std::string message = "inject: thrown at " + event + " of batch 2, as requested";
    CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.1), message.c_str(), Error);
    CHECK(tracer.trace == whole.substr(0, second) + "#" + message);
  }
}

TEST_CASE("a fault that did not occur is reported when the training ends") {
  const test::LogFile log;
  LayeredTraining t({4, 4, 4, 4});
  t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
  t.learn.add<FaultInjection>(parse_faults("slow@1:0s,throw@3:step_begin,nan@9,kill@10-12"));
  t.learn.fit(1, 0.01);
  CHECK(log.count("batch 1: slow") == 1);
  CHECK(log.count("batch 3: throw") == 0);
  CHECK(log.count("throw at batch 3 did not occur, which has no step_begin") == 1);
  CHECK(log.count("nan at batch 9 did not occur: the training ended after batch 4") == 1);
  CHECK(log.count("kill at batch 10 did not occur") == 1);
  CHECK(log.count("slow at") == 0);
}

TEST_CASE("batches are counted over fits, and validation is left alone") {
  Training t({2, 2}, {2});
  t.learn.add<FaultInjection>(parse_faults("throw@4"));
  t.learn.validate();
  t.learn.fit(1, 0.1);
  CHECK_THROWS_AS(t.learn.fit(1, 0.1), Error);
  CHECK(t.learn.progress().batch_clock == 3);

  LayeredTraining layers({4});
  layers.learn.add<FaultInjection>(parse_faults("nan_act@2:norm"));
  layers.learn.fit(1, 0.1);
  CHECK(std::isfinite(layers.learn.results().valid_loss));
  layers.learn.fit(1, 0.1);
  CHECK(std::isnan(layers.learn.results().train_loss));
}

TEST_CASE("a fault in a parameter's gradient is in that alone, half or not") {
  for (const bool half : {false, true}) {
    CAPTURE(half);
    CHECK(bad_gradients("overflow@2", half) == "|first.weight |");
    CHECK(bad_gradients("overflow@2:norm.bias,nan@2:last.bias", half) == "|norm.bias last.bias |");
  }
  CHECK(bad_gradients("overflow@1,nan@2", true) == "first.weight |first.weight |");
}

TEST_CASE(
    "a fault in the gradient of a module's output spreads to all gradients that depend on it") {
  for (const bool half : {false, true})
    for (const char* const kind : {"overflow", "nan"}) {
      CAPTURE(half);
      CAPTURE(kind);
      const std::string fault = std::string(kind) + "@2:";
      CHECK(bad_gradients(fault + "first", half) == "|first.weight |");
      CHECK(bad_gradients(fault + "norm", half) == "|first.weight norm.weight norm.bias |");
      CHECK(bad_gradients(fault + "last", half) ==
            "|first.weight norm.weight norm.bias last.weight last.bias |");
    }
}

TEST_CASE("mixed precision meets an injected overflow as a real one, in its scaled halves") {
  for (const char* const fault : {"overflow@2", "nan@2:norm", "overflow@2:norm.weight"}) {
    CAPTURE(fault);
    LayeredTraining t({4, 4, 4});
    to_fp16(t.learn, {.loss_scale = 64.0F});
    t.learn.add<GradientClip>(1.0F);
    t.learn.add<FaultInjection>(parse_faults(fault));
    std::int64_t bad_halves = 0;
    std::vector<double> before;
    std::vector<float> scales;
    on(
        t.learn,
        Event::backward_end,
        [&](Learner& l) { bad_halves += bad_in(l.scaled_grads().flat_half_grad()); },
        "between",
        order::kFaultInjection + 1);
    on(t.learn, Event::batch_end, [&](Learner& l) {
      if (!l.progress().training) return;
      const std::vector<double> now = values(l.params().flat_master());
      CHECK((now == before) == (scales.size() == 1));
      before = now;
      scales.push_back(l.optimizer().read_control().loss_scale);
    });
    t.learn.fit(1, 0.01);
    CHECK((bad_halves > 0) == (std::string(fault) != "overflow@2:norm.weight"));
    CHECK(scales == std::vector<float>{64, 32, 32});
    CHECK(t.learn.optimizer().read_control().skipped == 1);
  }
}

TEST_CASE("an overflow in one batch of several takes their update") {
  for (const bool half : {false, true}) {
    CAPTURE(half);
    Training t({2, 2, 2, 2});
    if (half) to_fp16(t.learn, {.loss_scale = 64.0F});
    t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
    t.learn.add<FaultInjection>(parse_faults("overflow@1"));
    t.learn.fit(1, 0.01);
    const StepControl control = t.learn.optimizer().read_control();
    CHECK(control.skipped == (half ? 1 : 0));  // in fp32 nothing checks it
    CHECK(control.step == (half ? 1 : 2));
    CHECK((bad_in(t.learn.params().flat_master()) == 0) == half);
  }
}

TEST_CASE("the output of a module, the loss, and all gradients can be spoilt") {
  const auto losses = [](const std::string& faults) {
    LayeredTraining t({4, 4, 4});
    auto& guard = t.learn.add<TerminateOnNan>();
    t.learn.add<FaultInjection>(parse_faults(faults));
    std::string seen;
    on(t.learn, Event::backward_begin, [&](Learner& l) {
      const double loss = get(l.batch().loss.value(), 0);
      seen += std::isfinite(loss) ? "." : std::isinf(loss) ? "i" : "n";
    });
    t.learn.fit(1, 0);
    return seen + (guard.terminated() ? "!" : "");
  };
  // The guard is of the same order and was added before: it has cancelled the rest.
  CHECK(losses("nan_act@2:norm") == ".!");
  CHECK(losses("overflow_act@2") == ".!");
  CHECK(losses("inf_loss@3") == "..!");
  CHECK(losses("spike@1:2") == "...");

  const auto norm = [](const std::string& faults) {
    LayeredTraining t({4});
    t.learn.add<FaultInjection>(parse_faults(faults));
    const auto& clip = t.learn.add<GradientClip>(1e-3F);
    t.learn.fit(1, 0);
    return clip.last_norm(t.learn);
  };
  CHECK(norm("spike@1:8") / norm("spike@2") == doctest::Approx(8));
}

TEST_CASE("a slow batch takes its time and changes nothing else") {
  const auto trained = [](const std::string& faults, double& seconds) {
    Training t({2, 2});
    t.learn.add<FaultInjection>(parse_faults(faults));
    const auto begin = std::chrono::steady_clock::now();
    t.learn.fit(1, 0.1);
    seconds = seconds_since(begin);
    return values(t.learn.params().flat_master());
  };
  double slow = 0;
  double normal = 0;
  CHECK(trained("slow@1-2:60ms", slow) == trained("slow@9", normal));
  CHECK(slow >= 0.12);
  CHECK(slow > normal);
}

TEST_CASE("places that the model or the batch does not have are refused") {
  LayeredTraining t({4});
  CHECK_THROWS_WITH_AS(
      t.learn.add<FaultInjection>(parse_faults("nan@1:frist")),
      "inject: the model has no module or parameter 'frist' for nan; did you mean 'first'?; it "
      "has: "
      "first, norm, last, first.weight, norm.weight, norm.bias, last.weight, last.bias",
      UsageError);
  CHECK_THROWS_WITH_AS(
      t.learn.add<FaultInjection>(parse_faults("nan_act@1:first.weight")),
      "inject: the model has no module 'first.weight' for nan_act; it has: first, norm, last",
      UsageError);
  t.learn.fit(1, 0.1);  // one that was refused is not there

  t.learn.split({"norm", "last"});
  t.learn.freeze_to(2);
  const auto refused = [&](const std::string& fault, const char* why) {
    const auto& added = t.learn.add<FaultInjection>(parse_faults(fault));
    CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.1), doctest::Contains(why), UsageError);
    CHECK(t.learn.tape().observer() == nullptr);
    CHECK(t.learn.tape().backward_observer() == nullptr);
    t.learn.remove(added);
  };
  refused("nan@2:first.weight",
          "batch 2 has no gradient of 'first.weight' for nan: it is not trained");
  refused("nan@2:first", "batch 2 has no gradient of the output of 'first'");
  CHECK_NOTHROW(t.learn.add<FaultInjection>(parse_faults("overflow@2")));
  t.learn.fit(1, 0.1);
  // The first trained parameter, which is a norm's: those stay trained.
  CHECK(bad_in(t.learn.params().master(t.learn.params().find("norm.weight"))) == 1);
  CHECK(bad_in(t.learn.params().master(t.learn.params().find("last.weight"))) == 0);
}

TEST_CASE("a step with faults is not captured") {
  CHECK_FALSE(FaultInjection(parse_faults("nan@1")).capturable());
}
