#include "framework/learner/history/skip_history.h"

#include "framework/kernels/step/step_rules.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace learn;

namespace {

/// Steps by the rules that the device follows, and their history. A letter is a batch: '.' a clean
/// step, 'x' an overflow, 'i' an infinite loss, '-' gradients that are held.
struct Steps {
  explicit Steps(const LossScaleOptions& options, float scale = 1024) : scaling(options) {
    step_rules::set_scale(control, scale);
    history.begin(control, scaling);
  }
  /// Letters of what the history makes of them: 'g'rowth, 'w'arm-up, 'p'robe, 'o'verflow, bad
  /// 'l'oss, '.' nothing.
  std::string run(const std::string& batches) {
    std::string seen;
    for (const char batch : batches) {
      ++batch_number;
      step_rules::begin(control);
      control.found_inf = batch == 'x' || batch == 'i' ? 1 : 0;
      const float before = control.loss_scale;
      if (batch != '-') step_rules::end(control, scaling);
      const auto record = history.add(batch_number, control, batch != 'i');
      if (record) {
        CHECK(record->batch == batch_number);
        CHECK(record->scale_before == before);
        CHECK(record->scale_after == control.loss_scale);
      }
      seen += record ? "gwpol"[static_cast<int>(record->event)] : '.';
    }
    return seen;
  }
  [[nodiscard]] StepVerdict verdict() const { return history.verdict(history.counts(), 1024); }

  LossScaleOptions scaling;
  StepControl control;
  SkipHistory history;
  std::int64_t batch_number = 0;
};

const LossScaleOptions kThree{.growth_interval = 3, .ceiling = 4096};

}  // namespace

TEST_CASE("a skipped step is counted as warm-up, probe, overflow, or bad loss") {
  CHECK(Steps(kThree).run("xx...x..x") == "ww..gp..o");
  // Before the first clean step nothing is known of the scale, whatever is held.
  CHECK(Steps(kThree).run("x-x-.-x") == "w.w...o");
  // The scale that it goes back to had worked before, so it is not a probe if that fails, too.
  CHECK(Steps(kThree).run("...xx.") == "..gpo.");
  // Some steps later it still is the first skip at that scale; at the ceiling nothing grows.
  CHECK(Steps(kThree).run("...x...x") == "..gp..gp");
  CHECK(Steps(kThree).run("...g..........") == "..g..g........");
  // No scale can help there.
  CHECK(Steps(kThree).run("i...i") == "l..gl");
  CHECK(Steps({.dynamic = false}).run("x.xx") == "o.oo");
}

TEST_CASE("with a hysteresis a scale that grew goes back after as many skips in a row") {
  const auto run = [](const std::string& batches) {
    Steps steps({.growth_interval = 3, .hysteresis = 2, .ceiling = 4096});
    const std::string seen = steps.run(batches);
    return std::pair(seen, steps.history.counts().in_a_row);
  };
  CHECK(run("...xx....") == std::pair(std::string("..gpp..g."), std::int64_t{0}));
  // Later skips are not caused by growth.
  CHECK(run("...xxx") == std::pair(std::string("..gppo"), std::int64_t{1}));
  // Neither a single one nor the next was caused by the scale.
  CHECK(run("...x.x") == std::pair(std::string("..gp.o"), std::int64_t{0}));
  CHECK(run(".xx") == std::pair(std::string(".oo"), std::int64_t{0}));
  CHECK(run(".xxx") == std::pair(std::string(".ooo"), std::int64_t{1}));
}

TEST_CASE("a scale that is set again has a new warm-up") {
  Steps steps(kThree);
  CHECK(steps.run("..x") == "..o");
  steps.history.begin(steps.control, kThree);  // another fit, the same scale
  CHECK(steps.run("x") == "o");
  step_rules::set_scale(steps.control, 0x1p20F);
  steps.history.begin(steps.control, kThree);
  CHECK(steps.run("xx.x") == "ww.o");
}

TEST_CASE("counts of an interval are a difference") {
  Steps steps(kThree);
  (void)steps.run("xx...x..xxi");
  const StepCounts all = steps.history.counts();
  CHECK(all == StepCounts{.applied = 5,
                          .skipped = 6,
                          .warm_up = 2,
                          .growth_probes = 1,
                          .overflows = 2,
                          .bad_losses = 1,
                          .in_a_row = 2});
  (void)steps.run(".x");
  CHECK(steps.history.counts().since(all) ==
        StepCounts{.applied = 1, .skipped = 1, .overflows = 1});
}

TEST_CASE("the verdict is one line with the reason") {
  const auto verdict = [](const std::string& batches, const LossScaleOptions& options) {
    Steps steps(options);
    (void)steps.run(batches);
    const StepVerdict found = steps.verdict();
    CHECK(found.normal == (found.text.find("not normal") == std::string::npos));
    return found.text;
  };
  const std::string many(300, '.');
  const LossScaleOptions slow{.growth_interval = 1000, .floor = 1};
  CHECK(verdict(many, slow).empty());
  CHECK(verdict("xxx" + many.substr(3) + "x", slow) ==
        "4 of 301 steps skipped (1.3 %: 3 while the loss scale was adjusted, 1 at a scale that had "
        "worked before), loss scale 1024 -> 64: normal");
  CHECK(verdict(".xx" + many, slow) ==
        "2 of 303 steps skipped (0.66 %: 2 at a scale that had worked before), loss scale 1024 -> "
        "256: not normal, several steps in a row were skipped");
  CHECK(verdict(".x.x.x.x" + many, slow) ==
        "4 of 308 steps skipped (1.3 %: 4 at a scale that had worked before), loss scale 1024 -> "
        "64: not normal, more than 1 % at a scale that had worked before");
  CHECK(verdict("...x..", kThree) ==
        "1 of 6 steps skipped (17 %: 1 after it had grown), loss scale 1024 -> 1024: normal");
  CHECK(verdict("xxxxxxxxxxxx", slow) ==
        "12 of 12 steps skipped (100 %: 12 while the loss scale was adjusted), loss scale 1024 -> "
        "1: not normal, no step was applied, the scale is at its floor");
  CHECK(verdict("i" + many, slow) ==
        "1 of 301 steps skipped (0.33 %: 1 infinite loss), loss scale 1024 -> 512: not normal, a "
        "loss "
        "was infinite or NaN");
  CHECK(verdict("x.x" + many, {.dynamic = false}) ==
        "2 of 303 steps skipped (0.66 %: 2 overflows): not normal, there is no loss scale that "
        "could adapt");
}

TEST_CASE("the newest records are kept, and a history continues after a checkpoint") {
  Steps straight(kThree);
  Steps stopped(kThree);
  for (int i = 0; i < 400; ++i) {
    const std::string some = i % 7 == 0 ? "x-x.." : "...x.x";
    CHECK(straight.run(some) == stopped.run(some));
    if (i % 50 != 0) continue;
    test::MemoryState state;
    test::MemorySaver saver(state);
    stopped.history.visit_state(saver);
    stopped.history = {};
    test::MemoryLoader loader(state);
    stopped.history.visit_state(loader);
    stopped.history.begin(stopped.control, kThree);
  }
  CHECK(straight.history.counts() == stopped.history.counts());
  CHECK(straight.history.counts().skipped > 600);
  const auto& records = straight.history.records();
  REQUIRE(records.size() == stopped.history.records().size());
  CHECK(records.size() <= SkipHistory::kCapacity);
  CHECK(records.size() >= SkipHistory::kCapacity / 2);
  CHECK(records.back().batch == stopped.history.records().back().batch);
  CHECK(records.front().scale_before == stopped.history.records().front().scale_before);
}

TEST_CASE("an impossible history of steps is refused") {
  Steps steps(kThree);
  (void)steps.run("xx...x");
  const auto refused = [&](const auto& change) {
    test::MemoryState state;
    test::MemorySaver saver(state);
    steps.history.visit_state(saver);
    change(state);
    SkipHistory other;
    test::MemoryLoader loader(state);
    CHECK_THROWS_AS(other.visit_state(loader), CheckpointError);
  };
  for (const char* const name : {"steps.applied", "steps.overflows", "steps.records.rows"})
    refused([&](test::MemoryState& s) { s.integers.at(name) = -1; });
  for (const double bad : {-1.0, 5.0, static_cast<double>(NAN)})
    refused(
        [&](test::MemoryState& s) { s.tensors.at("steps.records.table").span<double>()[1] = bad; });
  refused([&](test::MemoryState& s) { s.tensors.at("steps.records.table").span<double>()[0] = 0; });
}
