#include "framework/learner/find/sandbox.h"

#include "callbacks/checkpointer.h"
#include "callbacks/ema.h"
#include "callbacks/gradient_accumulation.h"
#include "callbacks/interrupt.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/report/csv_logger.h"
#include "framework/core/fnv1a.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/param_scheduler.h"
#include "framework/optim/adam.h"
#include "framework/optim/sgd.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <stdexcept>

using namespace tiny;
using namespace learn::callbacks;

namespace {

/// All that a learner is: each part's bytes under its name.
using Everything = std::map<std::string, std::string>;

std::string bytes_of(const Tensor& tensor) {
  if (!tensor.defined()) return "-";
  return {reinterpret_cast<const char*>(tensor.raw()), tensor.bytes()};
}

template <class T>
std::string bytes_of_value(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

Everything everything(Learner& learn) {
  Everything all;
  MemoryState state;
  MemorySaver saver(state);
  learn.visit_state(saver);
  for (const auto& [name, tensor] : state.tensors) all[name] = bytes_of(tensor);
  for (const auto& [name, number] : state.integers) all[name] = std::to_string(number);
  for (const auto& [name, number] : state.reals) all[name] = bytes_of_value(number);
  for (const auto& [name, text] : state.texts) all[name] = text;
  nn::ParamStore& p = learn.params();
  all["flat.master"] = bytes_of(p.flat_master());
  all["flat.grad"] = bytes_of(p.flat_grad());
  all["flat.half"] = bytes_of(p.flat_half());
  all["flat.half_grad"] = bytes_of(p.flat_half_grad());
  all["flat.buffers"] = bytes_of(p.flat_buffers());
  all["flat.committed"] = bytes_of(p.flat_committed_buffers());
  for (auto& [name, kept] : p.states()) all["state." + name] = bytes_of(kept.values);
  for (std::int64_t i = 0; i < p.size(); ++i)
    all["slot" + std::to_string(i)] =
        std::string(p.slot(i).trainable ? "t" : "-") + (p.slot(i).has_grad() ? "g" : "-") +
        std::to_string(reinterpret_cast<std::uintptr_t>(p.slot(i).value.raw()));
  const StepControl control = learn.optimizer().read_control();
  all["control"] = bytes_of_value(control);
  const LossScaleOptions& scaling = learn.optimizer().loss_scaling();
  all["scaling"] = fmt::format("{} {} {} {} {} {} {}",
                               scaling.dynamic,
                               scaling.growth_factor,
                               scaling.backoff_factor,
                               scaling.growth_interval,
                               scaling.hysteresis,
                               scaling.floor,
                               scaling.ceiling);
  const FitProgress& f = learn.progress();
  for (const std::int64_t n : {f.epoch,
                               f.epochs,
                               f.batch_in_pass,
                               f.batches,
                               f.batch_clock,
                               f.step_clock,
                               f.epoch_clock,
                               f.fit_first_epoch,
                               f.fit_first_batch,
                               f.fit_first_step,
                               f.epoch_first_batch,
                               f.fit_batches,
                               f.fit_steps})
    all["progress"] += std::to_string(n) + " ";
  all["results"] = bytes_of_value(learn.results().train_loss) +
                   bytes_of_value(learn.results().valid_loss) +
                   std::to_string(learn.results().valid_samples);
  return all;
}

void check_same(const Everything& before, const Everything& after) {
  for (const auto& one : before) {
    CAPTURE(one.first);
    CHECK(after.contains(one.first));
    if (after.contains(one.first)) CHECK((after.at(one.first) == one.second));
  }
  CHECK(before.size() == after.size());
}

/// A training with everything that has state.
struct Full {
  explicit Full(bool adam)
      : t({2, 2, 2, 1},
          {2},
          {.optimizer = adam ? optim::adam({}) : optim::sgd({.momentum = 0.9F})}) {
    t.learn.add<Recorder>();
    callbacks::to_fp16(t.learn, {.loss_scale = 64.0F});
    t.learn.add<Ema>(EmaOptions{.decay = 0.75});
    t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
    t.learn.add<ParamScheduler>(
        std::vector{ScheduledHyper{Hyper::lr, {optim::schedules::linear(0.01, 0.001)}}});
  }
  Training t;
};

constexpr LrFindOptions kShort{.start = 1e-4, .end = 0.1, .iterations = 12};

}  // namespace

TEST_CASE("a sandbox gives back every bit after any ending") {
  for (const bool adam : {false, true})
    for (const bool trained : {false, true}) {
      CAPTURE(adam);
      CAPTURE(trained);
      Full full(adam);
      Learner& learn = full.t.learn;
      if (trained) learn.fit(2);
      const Everything before = everything(learn);

      CHECK(learn.lr_find(kShort).lrs.size() == 12);
      check_same(before, everything(learn));

      const LrFindResult far = learn.lr_find({.start = 0.1, .end = 1e6, .iterations = 60});
      CHECK(far.ended != LrFindEnd::done);
      CHECK(far.lrs.size() < 60);
      check_same(before, everything(learn));

      for (const Event event : {Event::train_begin,
                                Event::epoch_begin,
                                Event::batch_begin,
                                Event::loss_begin,
                                Event::backward_begin,
                                Event::backward_end,
                                Event::step_begin,
                                Event::step_end,
                                Event::batch_end,
                                Event::epoch_end}) {
        CAPTURE(name_of(event));
        int calls = 0;
        const Callback& thrower = on(
            learn,
            event,
            [&](Learner&) {
              // The second time, in the middle of things, where there is one.
              if (++calls == 2 || event == Event::train_begin) throw std::runtime_error("thrown");
            },
            "thrower",
            order::kDefault);
        CHECK_THROWS_WITH((void)learn.lr_find(kShort), "thrown");
        learn.remove(thrower);
        check_same(before, everything(learn));
      }

      std::atomic<int> signal = 0;
      int batches = 0;
      const Callback& raise = on(
          learn,
          Event::batch_end,
          [&](Learner&) { signal = ++batches == 5 ? 2 : signal.load(); },
          "raise",
          order::kDefault);
      const Callback& interrupt = learn.add<Interrupt>(signal);
      const LrFindResult cut = learn.lr_find(kShort);
      CHECK(cut.ended == LrFindEnd::interrupted);
      CHECK(cut.why().find("interrupted") != std::string::npos);
      CHECK(cut.lrs.size() < 12);
      learn.remove(raise);
      learn.remove(interrupt);
      check_same(before, everything(learn));
    }
}

TEST_CASE("after a sandbox the loss scale moves as it did before") {
  // In steps made by hand, without a callback that would say again how it moves.
  const LossScaleOptions own{.growth_factor = 4, .growth_interval = 3, .ceiling = 4096};
  Training t({2, 2}, {2});
  t.learn.optimizer().set_loss_scaling(own);
  const Everything before = everything(t.learn);
  {
    Sandbox sandbox(t.learn);
    to_fp16(t.learn, {.loss_scale = 64.0F});
    t.learn.fit(1);
    CHECK_FALSE(t.learn.optimizer().loss_scaling() == own);
    to_fp32(t.learn);
    sandbox.restore();
  }
  CHECK(t.learn.optimizer().loss_scaling() == own);
  check_same(before, everything(t.learn));
}

TEST_CASE("training after a rate finder is training without one to the bit") {
  for (const bool adam : {false, true}) {
    Full with(adam);
    Full without(adam);
    for (int i = 0; i < 2; ++i) {
      (void)with.t.learn.lr_find(kShort);
      with.t.learn.fit(2);
      without.t.learn.fit(2);
      Everything a = everything(with.t.learn);
      Everything b = everything(without.t.learn);
      // Times, and addresses.
      const auto forget = [](Everything& all) {
        std::erase_if(all, [](const auto& entry) {
          return entry.first.find("slot") == 0 ||
                 entry.first.find("seconds") != std::string::npos ||
                 entry.first.find("epochs.table") != std::string::npos;
        });
      };
      forget(a);
      forget(b);
      check_same(a, b);
    }
  }
}

TEST_CASE("a fit that was cut short is resumed after a rate finder where it was") {
  const auto make = [](Training& t, bool find) {
    t.learn.add<Recorder>();
    int batches = 0;
    const Callback& cut = on(
        t.learn,
        Event::batch_end,
        [&](Learner& l) {
          if (l.progress().training && ++batches == 2) l.cancel(Scope::train);
        },
        "cut",
        order::kDefault);
    t.learn.fit(2, 0.05);
    t.learn.remove(cut);
    MemoryState state;
    MemorySaver saver(state);
    t.learn.visit_state(saver);
    MemoryLoader loader(state);
    t.learn.visit_state(loader);
    t.learn.resume();
    if (find) (void)t.learn.lr_find(kShort);
    t.learn.fit(2, 0.05);
    return values(t.learn.params().flat_master());
  };
  Training a({2, 2, 2, 2}, {2});
  Training b({2, 2, 2, 2}, {2});
  CHECK(make(a, true) == make(b, false));
  CHECK(a.learn.progress().batch_clock == 8);
}

TEST_CASE("state loaded for a fit's own callbacks is kept for that fit through a sandbox") {
  const auto averaged = [] {
    return FitCallbacks{std::make_shared<Ema>(EmaOptions{.decay = 0.75})};
  };
  Training t;
  const FitCallbacks first = averaged();
  t.learn.fit(1, 0.1, first);
  MemoryState state;
  MemorySaver saver(state);
  t.learn.visit_state(saver, averaged());
  MemoryLoader loader(state);
  t.learn.visit_state(loader, averaged());
  const Everything before = everything(t.learn);
  (void)t.learn.lr_find(kShort);
  check_same(before, everything(t.learn));
}

TEST_CASE("a sandbox shows and writes nothing") {
  const TemporaryFolder folder;
  Training t;
  t.learn.add<Recorder>();
  t.learn.add<CsvLogger>(folder / "results.csv");
  t.learn.add<Checkpointer>(CheckpointerOptions{.folder = folder / "weights"});
  {
    Sandbox sandbox(t.learn);
    t.learn.fit(2, 0.1);
    const BatchSources other(t.valid);
    t.learn.set_data(other);
    t.learn.freeze();
    sandbox.restore();
    CHECK(&t.learn.train_source() == &t.train);
    CHECK(t.learn.valid_source() == &t.valid);
    CHECK(t.learn.params().slot(0).trainable);
    t.learn.fit(1, 0.1);  // it is over: these are kept
  }
  CHECK(t.learn.progress().epoch_clock == 1);
  CHECK(std::filesystem::exists(folder / "weights"));
  CHECK(t.learn.find<Recorder>()->epochs_seen() == 1);
  const auto size = std::filesystem::file_size(folder / "results.csv");
  {
    const Sandbox sandbox(t.learn);
    t.learn.fit(1, 0.1);
  }
  CHECK(std::filesystem::file_size(folder / "results.csv") == size);
}

TEST_CASE("a sandbox cannot be entered from a handler") {
  Training t;
  on(t.learn, Event::batch_end, [](Learner& l) { const Sandbox sandbox(l); });
  CHECK_THROWS_AS(t.learn.fit(1, 0.1), std::logic_error);
  Training u;
  on(u.learn, Event::batch_end, [](Learner& l) { (void)l.lr_find(); });
  CHECK_THROWS_AS(u.learn.fit(1, 0.1), std::logic_error);
}
