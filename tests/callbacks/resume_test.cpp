// A training that stops anywhere and continues from its checkpoint ends with the same bits.
#include "callbacks/checkpointer.h"
#include "callbacks/early_stopping.h"
#include "callbacks/ema.h"
#include "callbacks/interrupt.h"
#include "callbacks/lambda.h"
#include "callbacks/registry.h"
#include "callbacks/report/csv_logger.h"
#include "framework/io/checkpoint.h"
#include "framework/io/csv.h"
#include "framework/learner/history/recorder.h"
#include "framework/optim/adam.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/memory_state.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <atomic>
#include <map>

using namespace tiny;
using namespace learn::callbacks;

namespace {

const std::vector<std::int64_t> kTrain{2, 3, 2, 1};
const std::vector<std::int64_t> kValid{2, 1};
constexpr std::int64_t kEpochs = 3;

Metric mean_prediction() {
  return {"mean", [](Context&, const Tensor& pred, const Tensor&) {
            double sum = 0;
            for (const double v : values(pred)) sum += v;
            return sum / static_cast<double>(kFeatures);
          }};
}

/// Whose callbacks those are that are under test.
enum class Whose : std::uint8_t { learner, fit };

/// One process of a run: learner, callbacks, files in `folder`. Batches differ from epoch to epoch.
struct Process {
  explicit Process(const TemporaryFolder& run,
                   const std::vector<std::string>& specs = {},
                   Whose whose = Whose::learner)
      : folder(run), t(kTrain, kValid, options()) {
    t.train.gain_of_batch = [this](std::size_t batch) {
      return 1 + 0.1 * static_cast<double>(t.train.epochs_begun.back()) +
             0.01 * static_cast<double>(batch);
    };
    for (const std::string& spec : specs) {
      CallbackWithEvents made = make_from_text(spec);
      if (whose == Whose::learner)
        t.learn.insert(std::move(made.callback), made.events);
      else
        of_fit.emplace_back(std::move(made.callback), made.events);
    }
    t.learn.add<Recorder>();
    t.learn.add<CsvLogger>(run / "results.csv");
    t.learn.add<Checkpointer>(CheckpointerOptions{.folder = run.path()});
    t.learn.add<Interrupt>(signal);
  }
  static LearnerOptions options() {
    LearnerOptions out;
    out.optimizer = optim::adam();
    out.metrics = {mean_prediction()};
    return out;
  }
  void load() {
    load_state(folder / "last.safetensors",
               [&](StateVisitor& v) { t.learn.visit_state(v, of_fit); });
    t.learn.resume();
  }
  void fit() { t.learn.fit_one_cycle(kEpochs, 0.05, {}, of_fit); }

  const TemporaryFolder& folder;
  std::atomic<int> signal{0};
  FitCallbacks of_fit;
  Training t;
};

/// Everything in a checkpoint except the times of epochs.
std::map<std::string, std::vector<double>> contents(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  std::map<std::string, std::vector<double>> out;
  for (const auto& [name, entry] : file.tensors()) {
    Arena arena("contents", cpu_pages());
    Tensor tensor(arena, entry.shape, entry.dtype);
    file.read(entry, {tensor.raw(), tensor.bytes()});
    out[name] = values(tensor);
    if (name != "callbacks.recorder.epochs.table") continue;
    const std::int64_t columns = entry.shape[1];
    for (std::int64_t row = 0; row < entry.shape[0]; ++row)
      for (const std::int64_t timed : {4, 5})  // seconds, images per second
        out[name][static_cast<std::size_t>(row * columns + timed)] = 0;
  }
  for (const auto& [name, text] : file.metadata())
    if (name.starts_with("state.") && name != "state.callbacks.recorder.cut_seconds")
      out[fmt::format("{} = {}", name, text)] = {};
  return out;
}

/// Names of what differs.
std::string difference(const std::map<std::string, std::vector<double>>& a,
                       const std::map<std::string, std::vector<double>>& b) {
  std::string out;
  for (const auto& [name, numbers] : a)
    if (const auto found = b.find(name); found == b.end() || found->second != numbers)
      out += name + '\n';
  return out.empty() && a.size() != b.size() ? "something is missing" : out;
}

std::vector<std::vector<std::string>> rows_without_times(const std::filesystem::path& path) {
  std::vector<std::vector<std::string>> rows = read_csv(path).rows;
  for (auto& row : rows) row[1] = row.back() = "";  // time, samples_per_second
  return rows;
}

/// Runs straight, and again with a stop wherever `stop` says so, counted in batch_end events of
/// both passes; both must leave the same files.
void check_same(const std::vector<std::string>& specs, int events, Whose whose = Whose::learner) {
  const TemporaryFolder straight;
  Process whole(straight, specs, whose);
  whole.fit();
  const auto expected = contents(straight / "last.safetensors");
  const GroupHypers hypers = whole.t.learn.optimizer().hypers(0);
  for (int stop = 1; stop < events; ++stop) {
    CAPTURE(stop);
    const TemporaryFolder run;
    {
      Process first(run, specs, whose);
      int seen = 0;
      on(
          first.t.learn,
          Event::batch_end,
          [&](Learner&) { first.signal = ++seen >= stop ? 2 : 0; },
          "stop",
          -1000);
      first.fit();
      CHECK(first.t.learn.progress().batch_clock <= whole.t.learn.progress().batch_clock);
    }
    Process second(run, specs, whose);
    second.load();
    second.fit();
    CHECK(difference(contents(run / "last.safetensors"), expected) == "");
    CHECK(rows_without_times(run / "results.csv") == rows_without_times(straight / "results.csv"));
    CHECK(second.t.learn.optimizer().hypers(0).lr == hypers.lr);
    CHECK(second.t.learn.optimizer().hypers(0).momentum == hypers.momentum);
  }
}

constexpr int kEvents = static_cast<int>(kEpochs) * 6;  // batches of training and validation

}  // namespace

TEST_CASE("resume equals straight run, bit for bit, wherever it stopped") {
  check_same({}, kEvents);
}

namespace {

const std::vector<std::string> kWithState{
    "mixed_precision:loss_scale=1024,growth_interval=2",
    "gradient_accumulation:batches=3",
    "gradient_clip:limit=0.5",
    "ema:decay=0.9",
    "early_stopping:patience=2",
    "param_scheduler:hyper=weight_decay,schedule=(linear:start=0.1,end=0.01),clock=step"};

}  // namespace

TEST_CASE("resume equals straight run with every callback that keeps state") {
  check_same(kWithState, kEvents);
}

TEST_CASE("resume equals straight run where every callback that keeps state is one of the fit") {
  check_same(kWithState, kEvents, Whose::fit);
}

TEST_CASE("callbacks of a fit work like those of a learner, and leave only what they trained") {
  const TemporaryFolder for_good;
  Process with(for_good, kWithState);
  with.fit();
  const TemporaryFolder for_one;
  Process once(for_one, kWithState, Whose::fit);
  once.fit();
  CHECK(difference(contents(for_one / "last.safetensors"),
                   contents(for_good / "last.safetensors")) == "");
  CHECK(with.t.learn.params().states().contains("ema"));
  CHECK_FALSE(once.t.learn.params().states().contains("ema"));
}

TEST_CASE("an average that is given to a second fit starts again there") {
  Training t({2, 2}, {});
  const auto ema = std::make_shared<Ema>(EmaOptions{.decay = 0});  // the weights of the last update
  std::vector<double> shown;
  std::vector<double> expected;
  const auto looks = std::make_shared<LambdaCallback>(
      Event::train_end,
      [&](Learner& l) {
        shown = values(Ema::average(l));
        expected = values(l.params().flat_master());
      },
      "looks",
      1000);
  const auto skips = std::make_shared<LambdaCallback>(
      Event::step_begin, [](Learner& l) { l.skip_step(); }, "skips", 0);
  t.learn.fit(1, 0.1, {ema, looks});
  CHECK(shown == expected);
  t.learn.fit(1, 0.1);
  // Without an update the average equals the initial weights.
  t.learn.fit(1, 0.1, {ema, looks, skips});
  CHECK(shown == expected);
}

TEST_CASE("a fit after a state was loaded has whole epochs even if that was saved once more") {
  Training stopped({2, 2, 2, 2}, {});
  on(stopped.learn, Event::batch_end, [](Learner& l) {
    if (l.progress().batch_clock == 2) l.cancel(Scope::train);
  });
  stopped.learn.fit(2, 0.1);
  REQUIRE(stopped.learn.progress().batch_clock == 2);
  const test::MemoryState state = test::save(stopped.ctx, stopped.learn);
  for (const bool saved_again : {false, true}) {
    CAPTURE(saved_again);
    Training t({2, 2, 2, 2}, {});
    test::load(t.ctx, state, t.learn);
    if (saved_again) (void)test::save(t.ctx, t.learn);
    t.learn.fit(1, 0.1);
    CHECK(t.learn.progress().batch_clock == 2 + 4);
  }
}

TEST_CASE("a second fit that was interrupted keeps its place on the step clock") {
  const std::vector<std::string> scheduled{
      "param_scheduler:hyper=weight_decay,schedule=(linear:start=0.1,end=0.01),clock=step"};
  const TemporaryFolder straight;
  Process whole(straight, scheduled);
  whole.fit();
  whole.fit();
  const TemporaryFolder run;
  {
    Process first(run, scheduled);
    first.fit();
    on(first.t.learn, Event::batch_end, [&](Learner& l) {
      if (l.progress().epoch == 1) first.signal = 2;
    });
    first.fit();
    CHECK(first.t.learn.progress().epoch_clock == kEpochs + 1);
  }
  Process second(run, scheduled);
  second.load();
  second.fit();
  CHECK(difference(contents(run / "last.safetensors"), contents(straight / "last.safetensors")) ==
        "");
}

TEST_CASE("an epoch that was interrupted is not one without improvement") {
  const TemporaryFolder run;
  const std::vector<std::string> stopping{"early_stopping:patience=1"};
  {
    Process first(run, stopping);
    on(first.t.learn, Event::batch_end, [&](Learner& l) {
      if (l.progress().epoch == 1) first.signal = 2;
    });
    first.fit();
    CHECK(first.t.learn.progress().epoch_clock == 1);
  }
  Process second(run, stopping);
  second.load();
  second.fit();
  CHECK(second.t.learn.progress().epoch_clock == kEpochs);
}

TEST_CASE("a run that was killed continues from the last epoch's end") {
  const TemporaryFolder straight;
  Process whole(straight);
  whole.fit();
  const TemporaryFolder run;
  {
    Process first(run);
    // The row of the second epoch is written, its checkpoint is not.
    on(
        first.t.learn,
        Event::epoch_end,
        [](Learner& l) {
          if (l.progress().epoch == 1) throw std::runtime_error("killed");
        },
        "killer",
        order::kReport + 5);
    CHECK_THROWS_AS(first.fit(), std::runtime_error);
    CHECK(read_csv(run / "results.csv").rows.size() == 2);
  }
  Process second(run);
  second.load();
  second.fit();
  CHECK(contents(run / "last.safetensors") == contents(straight / "last.safetensors"));
  CHECK(rows_without_times(run / "results.csv") == rows_without_times(straight / "results.csv"));
  // The checkpoint was made while a schedule was at work; what it found comes back at the end.
  for (int group = 0; group < whole.t.learn.params().groups(); ++group) {
    CHECK(second.t.learn.optimizer().hypers(group).lr ==
          whole.t.learn.optimizer().hypers(group).lr);
    CHECK(second.t.learn.optimizer().hypers(group).momentum ==
          whole.t.learn.optimizer().hypers(group).momentum);
  }
}

TEST_CASE("a training that stopped itself does not continue") {
  const TemporaryFolder run;
  const std::vector<std::string> stopping{"early_stopping:patience=1,min_delta=100"};
  Process first(run, stopping);
  first.fit();
  CHECK(first.t.learn.find<Recorder>()->epochs().size() == 2);
  Process second(run, stopping);
  second.load();
  second.fit();
  CHECK(second.t.learn.progress().batch_clock == first.t.learn.progress().batch_clock);
  CHECK(read_csv(run / "results.csv").rows.size() == 2);
}

TEST_CASE("a resumed fit refuses another plan, and the fit after it is a new one") {
  const TemporaryFolder run;
  {
    Process first(run);
    on(first.t.learn, Event::epoch_end, [&](Learner&) { first.signal = 2; });
    first.fit();
    CHECK(first.t.learn.progress().epoch_clock == 1);
  }
  Process second(run);
  CHECK_THROWS_WITH_AS(second.t.learn.resume(), doctest::Contains("load one first"), UsageError);
  second.load();
  CHECK_THROWS_WITH_AS(second.t.learn.fit_one_cycle(kEpochs + 1, 0.05),
                       doctest::Contains("has 3 epochs, 12 batches"),
                       UsageError);
  second.load();
  CHECK_THROWS_WITH_AS(second.t.learn.fit_one_cycle(kEpochs, 0.1),
                       doctest::Contains("has a learning rate of 0.05"),
                       UsageError);
  second.load();
  second.fit();
  CHECK(second.t.learn.progress().epoch_clock == kEpochs);
  CHECK(second.t.learn.progress().resumed);
  second.t.learn.fit(1, 0.05);
  CHECK_FALSE(second.t.learn.progress().resumed);
  CHECK(second.t.learn.progress().epoch_clock == kEpochs + 1);
}
