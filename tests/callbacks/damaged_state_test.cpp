// Any number in a checkpoint is refused, or the training continues and soon ends.
#include "callbacks/checkpointer.h"
#include "callbacks/lambda.h"
#include "callbacks/registry.h"
#include "framework/learner/history/recorder.h"
#include "framework/optim/adam.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/memory_state.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>

using namespace tiny;
using namespace learn::callbacks;

namespace {

constexpr std::int64_t kEpochs = 3;

/// A learner with everything that keeps state.
struct Process {
  explicit Process(const TemporaryFolder& folder) : t({2, 3, 2, 1}, {2, 1}, with_adam()) {
    for (const char* const spec :
         {"mixed_precision:loss_scale=1024,growth_interval=2",
          "gradient_accumulation:batches=2",
          "ema:decay=0.9",
          "early_stopping:patience=9",
          "param_scheduler:hyper=weight_decay,schedule=(linear:start=0.1,end=0.01),clock=step"})
      add_from_text(t.learn, spec);
    t.learn.add<Recorder>();
    t.learn.add<Checkpointer>(
        CheckpointerOptions{.folder = folder.path(), .last = false, .best = false});
  }
  static LearnerOptions with_adam() {
    LearnerOptions options;
    options.optimizer = optim::adam();
    return options;
  }
  void fit() { t.learn.fit_one_cycle(kEpochs, 0.05); }
  [[nodiscard]] test::MemoryState state() { return test::save(t.ctx, t.learn); }
  /// True if the training came to its end.
  [[nodiscard]] bool continues(const test::MemoryState& state) {
    try {
      test::load(t.ctx, state, t.learn);
      t.learn.resume();
      fit();
    } catch (const CheckpointError&) {
      return false;
    } catch (const UsageError&) {  // a fit of other epochs or batches
      return false;
    }
    return true;
  }

  Training t;
};

/// The state of a training that was stopped in the middle of its second epoch.
test::MemoryState stopped(const TemporaryFolder& folder) {
  Process process(folder);
  on(process.t.learn, Event::batch_end, [](Learner& l) {
    if (l.progress().training && l.progress().batch_clock == 6) l.cancel(Scope::train);
  });
  process.fit();
  return process.state();
}

/// State that determines the end of the training: everything except the recorder's and the
/// trackers'.
std::map<std::string, std::vector<double>> outcome_of(const test::MemoryState& state) {
  std::map<std::string, std::vector<double>> out;
  for (const auto& [name, tensor] : state.tensors)
    if (!name.starts_with("callbacks.")) out[name] = values(tensor);
  for (const auto& [name, value] : state.integers)
    if (!name.starts_with("callbacks.")) out[name] = {static_cast<double>(value)};
  return out;
}

/// Runs it with one number replaced. Returns whether that number still says what it did: it was
/// refused, or made no difference.
bool is_held(const TemporaryFolder& folder,
             const test::MemoryState& damaged,
             const std::map<std::string, std::vector<double>>& expected) {
  const auto begin = std::chrono::steady_clock::now();
  Process process(folder);
  const bool same = !process.continues(damaged) || outcome_of(process.state()) == expected;
  // It takes milliseconds; a hang would take years.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  return same;
}

}  // namespace

TEST_CASE("no number in a checkpoint makes a training hang, crash or allocate too much") {
  const TemporaryFolder folder;
  const test::MemoryState state = stopped(folder);
  std::map<std::string, std::vector<double>> expected;
  {
    Process process(folder);
    REQUIRE(process.continues(state));
    expected = outcome_of(process.state());
  }
  std::set<std::string> not_held;
  for (const auto& [name, value] : state.integers)
    for (const std::int64_t wrong : {std::int64_t{-1},
                                     std::int64_t{0},
                                     std::int64_t{1},
                                     value + 1,
                                     std::int64_t{1} << 30,
                                     std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::max()}) {
      const std::string& number = name;  // clang captures no binding
      CAPTURE(number);
      CAPTURE(wrong);
      test::MemoryState damaged = state;
      damaged.integers[name] = wrong;
      if (!is_held(folder, damaged, expected)) not_held.insert(name);
    }
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const auto& [name, value] : state.reals)
    for (const double wrong : {-1.0, 0.0, 1.0, value + 1, 1e300, kInf, -kInf, std::nan("")}) {
      const std::string& number = name;  // clang captures no binding
      CAPTURE(number);
      CAPTURE(wrong);
      test::MemoryState damaged = state;
      damaged.reals[name] = wrong;
      if (!is_held(folder, damaged, expected)) not_held.insert(name);
    }
  // These can be what they are changed to: nothing else in a state says otherwise. The trainings
  // that continue are such as there are.
  std::set<std::string> free{"clocks.batch",
                             "clocks.epoch",
                             "data.batch",
                             "data.epoch",
                             "fit.epoch_first_batch",
                             "fit.first_batch",
                             "fit.first_step",
                             "optimizer.clean_steps",
                             "optimizer.skipped",
                             "optimizer.step",
                             "precision.scale_set"};
  for (const std::string& name : not_held) {
    const bool hyper = name.starts_with("optimizer.group");
    const bool tracked = name.starts_with("callbacks.");
    CAPTURE(name);
    CHECK((hyper || tracked || free.contains(name)));
  }
  // Numbers that would have caused a hang, an endless epoch or an index out of range.
  for (const char* const name : {"fit.epochs", "fit.batches", "fit.begun", "optimizer.loss_scale"})
    CHECK_FALSE(not_held.contains(name));
}

TEST_CASE("a refused number is named, with what it can be") {
  const TemporaryFolder folder;
  test::MemoryState state = stopped(folder);
  state.integers.at("fit.first_epoch") = std::int64_t{1} << 30;
  Process process(folder);
  CHECK_THROWS_WITH_AS(test::load(process.t.ctx, state, process.t.learn),
                       "'fit.first_epoch' is 1073741824 in the checkpoint; here it can be 0 to 1",
                       CheckpointError);
  state = stopped(folder);
  state.integers.at("clocks.epoch") = 0;
  state.integers.at("fit.first_epoch") = 0;
  CHECK_THROWS_WITH_AS(
      test::load(process.t.ctx, state, process.t.learn),
      doctest::Contains(
          "4 batches in 0 finished epochs and 2 in the next, of a fit of 12 batches in 3 epochs"),
      CheckpointError);
  state = stopped(folder);
  state.reals.at("optimizer.group0.lr") = std::nan("");
  CHECK_THROWS_WITH_AS(test::load(process.t.ctx, state, process.t.learn),
                       doctest::Contains("'optimizer.group0.lr' is nan in the checkpoint"),
                       CheckpointError);
}
