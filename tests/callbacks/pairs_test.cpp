// Every callback with every other, the way users combine them.
#include "callbacks/interrupt.h"
#include "callbacks/lambda.h"
#include "callbacks/registry.h"
#include "framework/io/csv.h"
#include "framework/learner/history/recorder.h"
#include "tests/callbacks/image_training.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>

using namespace tiny;
using namespace learn::callbacks;

namespace {

/// Options of those that need some, or do more with them than with their defaults.
const std::map<std::string, std::vector<std::string>>& options_to_try() {
  static const std::map<std::string, std::vector<std::string>> all{
      {"mixed_precision", {"loss_scale=256"}},
      {"native_mixed_precision", {"loss_scale=256"}},
      {"gradient_clip", {"limit=0.5", "limit=0.5,by=value"}},
      {"gradient_accumulation", {"batches=2"}},
      {"cuda_graph", {"warm_up=1"}},
      {"ema", {"decay=0.9"}},
      {"tta", {"views=shift"}},
      {"inject", {"faults=(spike@2:3,slow@3:1ms)"}},
      {"early_stopping", {"patience=9"}},
      {"param_scheduler", {"hyper=momentum,schedule=(linear:start=0.9,end=0.8)"}},
      {"progress", {"live=off"}},
      {"checkpointer", {"every=1"}}};
  return all;
}

/// Every callback, as text where that is possible.
const std::vector<std::string>& kinds() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> specs;
    for (const std::string& name : callback_registry().names()) {
      const auto found = options_to_try().find(name);
      if (found == options_to_try().end()) {
        specs.push_back(name);
        continue;
      }
      for (const std::string& options : found->second)
        specs.push_back(fmt::format("{}:{}", name, options));
    }
    specs.insert(specs.end(), {"interrupt", "lambda"});
    return specs;
  }();
  return all;
}

std::string name_in(const std::string& spec) { return spec.substr(0, spec.find(':')); }

bool is_text(const std::string& spec) { return spec != "interrupt" && spec != "lambda"; }

bool reporting(const std::string& spec) {
  return !is_text(spec) || make_from_text(spec).role == Role::reports;
}

/// Whether a learner can have it twice.
bool works_twice(const std::string& spec) {
  return !is_text(spec) || make_from_text(spec).callback->claims().empty();
}

/// Pairs that a learner refuses, with the reason that both declare.
bool contradict(const std::string& first, const std::string& second) {
  if (!is_text(first) || !is_text(second)) return false;
  const std::vector<std::string> ours = make_from_text(first).callback->claims();
  const std::vector<std::string> theirs = make_from_text(second).callback->claims();
  return std::find_first_of(ours.begin(), ours.end(), theirs.begin(), theirs.end()) != ours.end();
}

struct TrainedPair {
  std::vector<double> weights;
  std::int64_t steps = 0;
};

bool needs_images(const std::string& spec) {
  const std::string name = name_in(spec);
  return name == "gradual_unfreezing" || name == "mix" || name == "progressive_resizing" ||
         name == "tta" || name == "whitening";
}

/// Trains with the given callbacks. They report into `folder`.
TrainedPair train_with(Learner& learn,
                       const std::vector<std::string>& specs,
                       const std::filesystem::path& folder) {
  static const std::atomic<int> no_signal{0};
  bool recorded = false;
  int heard = 0;
  for (const std::string& spec : specs) {
    recorded = recorded || name_in(spec) == "recorder";
    if (spec == "interrupt")
      learn.add<Interrupt>(no_signal);
    else if (spec == "lambda")
      on(learn, Event::batch_end, [&](Learner&) { ++heard; });
    else
      add_from_text(learn, spec, {.folder = folder});
  }
  if (!recorded) learn.add<Recorder>();
  learn.fit(2, 0.05);
  if (std::find(specs.begin(), specs.end(), "lambda") != specs.end()) CHECK(heard > 0);
  return {values(learn.params().flat_master()), learn.progress().step_clock};
}

TrainedPair train_with(const std::vector<std::string>& specs, const std::filesystem::path& folder) {
  if (std::ranges::any_of(specs, needs_images)) {
    test::ImageTraining t(nn::cross_entropy(), {2, 3, 2});
    t.learn.split({"last"});
    return train_with(t.learn, specs, folder);
  }
  Training t({2, 2, 1}, {2});
  return train_with(t.learn, specs, folder);
}

}  // namespace

TEST_CASE("the tried options belong to existing callbacks") {
  for (const auto& [name, options] : options_to_try())
    CHECK_NOTHROW((void)callback_registry().configure(name));
  CHECK(kinds().size() == callback_registry().names().size() + 3);  // clips in two ways
}

TEST_CASE("every callback works with every other, in any order of addition") {
  const TemporaryFolder folder;
  for (std::size_t i = 0; i < kinds().size(); ++i) {
    for (std::size_t j = i + 1; j < kinds().size(); ++j) {
      const std::string& first = kinds()[i];
      const std::string& second = kinds()[j];
      CAPTURE(first);
      CAPTURE(second);
      if (contradict(first, second)) {
        const std::string both =
            fmt::format("callbacks '{}' and '{}' both ", name_in(first), name_in(second));
        CHECK_THROWS_WITH_AS(train_with({first, second}, folder.path()),
                             doctest::Contains(both.c_str()),
                             UsageError);
        continue;
      }
      const TrainedPair forwards = train_with({first, second}, folder.path());
      const TrainedPair backwards = train_with({second, first}, folder.path());
      CHECK(forwards.steps > 0);
      for (const double v : forwards.weights) CHECK(std::isfinite(v));
      // The two ways of clipping have one order: who was added first clips first.
      const bool both_clip = name_in(first) == name_in(second);
      if (!both_clip) CHECK(forwards.weights == backwards.weights);
      if (reporting(second) && !needs_images(second))
        CHECK(forwards.weights == train_with({first}, folder.path()).weights);
    }
  }
  CHECK(read_csv(folder / "results.csv").rows.size() == 2);
  for (const char* const file : {"results.png", "weights/last.safetensors"})
    CHECK(std::filesystem::exists(folder / file));
}

TEST_CASE("two callbacks that contradict each other are refused, both named") {
  const TemporaryFolder folder;
  for (const std::string& spec : kinds()) {
    CAPTURE(spec);
    if (works_twice(spec)) {
      CHECK_NOTHROW(train_with({spec, spec}, folder.path()));
      continue;
    }
    const std::string both = fmt::format("callbacks '{0}' and '{0}' both ", name_in(spec));
    CHECK_THROWS_WITH_AS(
        train_with({spec, spec}, folder.path()), doctest::Contains(both.c_str()), UsageError);
  }
  // Nor are two ways to clip.
  const std::string by_value = "gradient_clip:limit=1,by=value";
  CHECK_NOTHROW(train_with({by_value, "gradient_clip:limit=1"}, folder.path()));
  CHECK_THROWS_WITH_AS(train_with({by_value, by_value}, folder.path()),
                       doctest::Contains("both clip gradients by value"),
                       UsageError);
  // Separate files do not conflict.
  CHECK_NOTHROW(train_with({"csv_logger:path=a.csv", "csv_logger:path=b.csv"}, folder.path()));
  CHECK(read_csv(folder / "b.csv").rows.size() == 2);
}

TEST_CASE("callbacks that need code are refused with advice") {
  CHECK_THROWS_WITH_AS(
      (void)make_from_text("interrupt"), doctest::Contains("callbacks::Interrupt"), UsageError);
  CHECK_THROWS_WITH_AS((void)make_from_text("lambda:event=epoch_end"),
                       doctest::Contains("callbacks::on(learn, event"),
                       UsageError);
  for (const char* const spec : {"csv_logger:file=a.csv",
                                 "progress:live=loud",
                                 "checkpointer:every=-1",
                                 "checkpointer:mode=best",
                                 "recorder:beta=1",
                                 "plot_results:size=2"})
    CHECK_THROWS_AS((void)make_from_text(spec), UsageError);
}
