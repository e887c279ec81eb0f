#include "callbacks/checkpointer.h"
#include "callbacks/cuda_graph.h"
#include "callbacks/early_stopping.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/registry.h"
#include "callbacks/terminate_on_nan.h"
#include "framework/learner/param_scheduler.h"
#include "tests/learner/expected_trace.h"
#include "tests/learner/tiny_training.h"
#include "tests/learner/tracer.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace tiny;
using namespace learn::callbacks;

namespace {

/// A learner whose metric "score" takes the given values, epoch by epoch.
struct Scored {
  explicit Scored(std::vector<double> given) : scores(std::move(given)), t({2}, {2}, options()) {}
  LearnerOptions options() {
    LearnerOptions out;
    out.metrics = {{"score", [this](Context&, const Tensor& pred, const Tensor&) {
                      return scores.at(at++) * static_cast<double>(pred.shape()[0]);
                    }}};
    return out;
  }
  std::vector<double> scores;
  std::size_t at = 0;
  Training t;
};

std::size_t epochs_run(const std::vector<double>& scores, EarlyStoppingOptions options) {
  Scored s(scores);
  options.monitor = "score";
  s.t.learn.add<EarlyStopping>(options);
  s.t.learn.fit(static_cast<std::int64_t>(scores.size()), 0);
  return s.at;
}

}  // namespace

TEST_CASE("early stopping counts epochs without improvement") {
  CHECK(epochs_run({1, 2, 2, 3, 4}, {.patience = 1}) == 3);
  CHECK(epochs_run({1, 2, 2, 3, 4}, {.patience = 2}) == 5);
  CHECK(epochs_run({1, 2, 2, 1, 4}, {.patience = 2}) == 4);
  CHECK(epochs_run({1, 1.4, 1.8, 2}, {.min_delta = 0.5, .patience = 2}) == 4);
  CHECK(epochs_run({1, 1.4, 1.3, 2}, {.min_delta = 0.5, .patience = 2}) == 3);
  CHECK(epochs_run({4, 3, 3, 1}, {.patience = 1, .better = Better::lower}) == 3);
  CHECK(epochs_run({1, NAN, NAN, 2}, {.patience = 2}) == 3);
  CHECK(epochs_run({NAN, 1, 2}, {.patience = 2}) == 3);
}

TEST_CASE("early stopping restarts with each fit and lists the values it can monitor") {
  Scored s({5, 1, 1, 9});
  auto& early =
      s.t.learn.add<EarlyStopping>(EarlyStoppingOptions{.monitor = "score", .patience = 2});
  s.t.learn.fit(2, 0);
  CHECK(early.waited() == 1);
  s.t.learn.fit(1, 0);
  CHECK(early.waited() == 0);
  // Two epochs that say nothing are two of the second fit, not three with that of the first.
  Scored silent({5, 1, NAN, NAN});
  silent.t.learn.add<EarlyStopping>(EarlyStoppingOptions{.monitor = "score", .patience = 2});
  silent.t.learn.fit(2, 0);
  silent.t.learn.fit(2, 0);
  CHECK(silent.at == 4);
  Training t;
  t.learn.add<EarlyStopping>(EarlyStoppingOptions{.monitor = "acuracy"});
  CHECK_THROWS_WITH_AS(t.learn.fit(1),
                       "unknown value 'acuracy' to monitor; known values: train_loss, valid_loss",
                       UsageError);
  Training blind({2}, {});
  blind.learn.add<EarlyStopping>();
  CHECK_THROWS_AS(blind.learn.fit(1), UsageError);
  CHECK_THROWS_AS(EarlyStopping(EarlyStoppingOptions{.patience = 0}), UsageError);
  CHECK_THROWS_AS(EarlyStopping(EarlyStoppingOptions{.min_delta = -1}), UsageError);
}

TEST_CASE("a loss that is not finite ends training before it damages the weights") {
  for (const double bad : {static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    CAPTURE(bad);
    Training t({2, 2, 2}, {2});
    t.train.gain_of_batch = [&](std::size_t batch) { return batch == 1 ? bad : 1.0; };
    auto& guard = t.learn.add<TerminateOnNan>();
    auto& tracer = t.learn.add<Tracer>();
    t.learn.fit(2, 0.1);
    CHECK(guard.terminated());
    const Place second_backward{Event::backward_begin, true, 1};
    CHECK(tracer.trace == expected_trace(second_backward, Scope::train));
    for (const double v : values(t.learn.params().flat_master())) CHECK(std::isfinite(v));
    for (const double v : values(t.learn.params().flat_buffers())) CHECK(std::isfinite(v));
    t.train.gain_of_batch = [](std::size_t) { return 1.0; };
    t.learn.fit(1, 0.1);
    CHECK_FALSE(guard.terminated());
  }
}

TEST_CASE("a lambda receives one event, in its order") {
  Training t;
  std::string heard;
  on(
      t.learn, Event::epoch_end, [&](Learner&) { heard += "b"; }, "second", 1);
  auto& first = on(
      t.learn, Event::epoch_end, [&](Learner&) { heard += "a"; }, "first");
  on(t.learn, Event::cancelled, [&](Learner&) { heard += "!"; });
  t.learn.fit(2, 0.1);
  CHECK(heard == "abab");
  CHECK(t.learn.callbacks().listeners(Event::epoch_end).size() == 2);
  CHECK(t.learn.callbacks().listeners(Event::batch_begin).empty());
  t.learn.remove(first);
  t.learn.add<Once>(Event::batch_begin, true, [](Learner& l) { l.cancel(Scope::epoch); });
  t.learn.fit(1, 0.1);
  CHECK(heard == "abab!b");
  CHECK_THROWS_AS(on(t.learn, Event::epoch_end, nullptr), UsageError);
}

TEST_CASE("a schedule on the step clock waits while steps are skipped") {
  const auto rates = [](Clock clock) {
    Training t({1, 1, 1, 1}, {});
    t.learn.add<ParamScheduler>(
        std::vector{ScheduledHyper{Hyper::lr, {optim::schedules::linear(0.4, 0)}}}, clock);
    std::vector<double> seen;
    on(t.learn, Event::step_begin, [&](Learner& l) {
      seen.push_back(l.optimizer().lr(0));
      if (l.progress().batch_in_pass == 1) l.skip_step();
    });
    t.learn.fit(1, 0.5);
    CHECK(t.learn.optimizer().lr(0) == 0.5F);
    return seen;
  };
  CHECK(rates(Clock::batch) == std::vector<double>{0.4F, 0.3F, 0.2F, 0.1F});
  CHECK(rates(Clock::step) == std::vector<double>{0.4F, 0.3F, 0.3F, 0.2F});
}

TEST_CASE("any hyper-parameter can be scheduled, per layer group") {
  Training t({1, 1}, {});
  std::vector<GroupHypers> seen;
  on(t.learn, Event::step_begin, [&](Learner& l) {
    seen.push_back(l.optimizer().hypers(0));
    CHECK(l.optimizer().hypers(1).weight_decay == 0);  // no decay of norms, scheduled or not
  });
  const optim::Schedule line = optim::schedules::linear(0.5, 0.25);
  std::vector<ScheduledHyper> all;
  for (const auto& [name, hyper] : hypers_by_name()) all.push_back({hyper, {line}});
  CHECK(all.size() == 6);
  t.learn.add<ParamScheduler>(all);
  const GroupHypers before = t.learn.optimizer().hypers(0);
  t.learn.fit(1, static_cast<double>(before.lr));
  REQUIRE(seen.size() == 2);
  const GroupHypers& last = seen[1];
  for (const float value :
       {last.lr, last.momentum, last.weight_decay, last.dampening, last.beta2, last.eps})
    CHECK(value == 0.375F);
  const GroupHypers after = t.learn.optimizer().hypers(0);
  CHECK(after.momentum == before.momentum);
  CHECK(after.eps == before.eps);
  CHECK_THROWS_AS(ParamScheduler({}), UsageError);
  CHECK_THROWS_AS(ParamScheduler({all[0], all[0]}), UsageError);
  CHECK_THROWS_WITH_AS(ParamScheduler({ScheduledHyper{Hyper::eps, {}}}),
                       doctest::Contains("no schedule for 'eps'"),
                       UsageError);
  Training two({1}, {});
  two.learn.add<ParamScheduler>(std::vector{ScheduledHyper{Hyper::lr, {line, line}}});
  CHECK_THROWS_AS(two.learn.fit(1), UsageError);  // one layer group
}

TEST_CASE("a checkpointer and a graph refuse counts that mean nothing") {
  CHECK_THROWS_WITH_AS(Checkpointer({.every = -1}),
                       doctest::Contains("checkpointer: every must not be negative, got -1"),
                       UsageError);
  CHECK_THROWS_WITH_AS(CudaGraph(0),
                       doctest::Contains("cuda_graph: warmup must be at least 1 batch, not 0"),
                       UsageError);
}

TEST_CASE("callbacks are made from text") {
  Training t;
  for (const char* spec : {"mixed_precision:dtype=f16,flat_master=true,loss_scale=128",
                           "gradient_clip:limit=0.5,by=value",
                           "gradient_accumulation:batches=2",
                           "early_stopping:monitor=train_loss,patience=3,min_delta=0.1,mode=min",
                           "terminate_on_nan",
                           "param_scheduler:hyper=momentum,schedule=(cosine:start=0.9,end=0.8)"})
    add_from_text(t.learn, spec);
  CHECK(t.learn.find<MixedPrecision>()->options().flat_master);
  CHECK(t.learn.find<MixedPrecision>()->options().loss_scale == 128.0F);
  t.learn.fit(1, 0.01);
  const auto registry = callback_registry();
  for (const std::string& name : registry.names()) CHECK_FALSE(registry.help(name).empty());
}

TEST_CASE("a callback monitors the value in its text, or that of the run") {
  const auto fit = [](const char* spec, const RunSettings& run) {
    Training t({1, 1}, {});  // there is no validation loss
    add_from_text(t.learn, spec, run);
    t.learn.fit(1, 0.01);
  };
  CHECK_NOTHROW(fit("early_stopping:monitor=train_loss", {.monitor = "valid_loss"}));
  CHECK_NOTHROW(fit("early_stopping", {.monitor = "train_loss"}));
  CHECK_THROWS_WITH_AS(fit("early_stopping", {.monitor = "valid_loss"}),
                       doctest::Contains("unknown value 'valid_loss' to monitor"),
                       UsageError);
}

TEST_CASE("an unknown text is refused with the known ones") {
  Training t;
  const auto refused = [&](const char* spec, const char* why) {
    CAPTURE(spec);
    CHECK_THROWS_WITH_AS(add_from_text(t.learn, spec), doctest::Contains(why), UsageError);
  };
  refused("gradient_clamp", "known: ");
  refused("gradient_clip:norm=1", "gradient_clip has no option 'norm'; it has: limit, by");
  refused("gradient_clip:limit=one", "limit=one");
  refused("gradient_clip:limit=1x", "limit=1x");
  refused("gradient_clip:limit", "key=value");
  refused("gradient_clip:limit=1,limit=2", "twice");
  refused("gradient_clip:by=size", "unknown by 'size' (known: norm, value)");
  refused("gradient_clip:limti=1", "did you mean 'limit'?");
  refused("gradient_clip:limit=0", "0 is not above 0");
  refused("terminate_on_nan:every=2", "it has: none");
  refused("mixed_precision:dtype=f32", "(known: f16, bf16)");
  refused("mixed_precision:dynamic=yes", "is not true or false");
  refused("early_stopping:mode=best", "(known: auto, min, max)");
  refused("param_scheduler:schedule=magic", "unknown schedule");
  refused("param_scheduler:schedule=(cosine:power=2)", "cosine has no option 'power'");
  refused("param_scheduler:hyper=temperature", "unknown hyper 'temperature'");
  CHECK(t.learn.callbacks().listeners(Event::train_begin).empty());
}
