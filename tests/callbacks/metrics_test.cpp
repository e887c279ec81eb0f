// Values that are measured reach everyone who shows, keeps or watches them.
#include "callbacks/checkpointer.h"
#include "callbacks/early_stopping.h"
#include "callbacks/lambda.h"
#include "callbacks/report/csv_logger.h"
#include "framework/core/log.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checkpoint.h"
#include "framework/io/csv.h"
#include "framework/learner/history/progress.h"
#include "framework/learner/history/recorder.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace tiny;
using namespace learn::callbacks;

namespace {

/// Adds "score", which is the epoch, from a given one on.
class Score final : public Callback {
 public:
  explicit Score(std::int64_t from = 0) : from_(from) {}
  [[nodiscard]] std::string_view name() const override { return "score"; }
  [[nodiscard]] std::vector<std::string> metrics() const override {
    return from_ == 0 ? std::vector<std::string>{"score"} : std::vector<std::string>{};
  }
  void validate_end(Learner& learn) override {
    if (learn.progress().epoch >= from_)
      learn.add_metric("score", static_cast<double>(learn.progress().epoch + 1));
  }

 private:
  std::int64_t from_;
};

std::string table_of(Training& t, std::int64_t epochs) {
  const TemporaryFolder folder;
  std::FILE* const file = std::fopen((folder / "out").c_str(), "w");
  REQUIRE(file != nullptr);
  const Progress& progress =
      t.learn.add<Progress>(ProgressOptions{.table = file, .bar = file, .live = Live::off});
  t.learn.fit(epochs, 0.1);
  t.learn.remove(progress);
  std::fclose(file);
  return read_text_file(folder / "out");
}

}  // namespace

TEST_CASE("a value that a callback adds is in table, file, history, monitor and checkpoint") {
  const TemporaryFolder folder;
  Training t({2}, {2});
  t.learn.add<Score>();
  auto& recorder = t.learn.add<Recorder>();
  t.learn.add<CsvLogger>(folder / "results.csv");
  auto& saver = t.learn.add<Checkpointer>(
      CheckpointerOptions{.folder = folder.path(), .monitor = "score", .better = Better::lower});
  t.learn.add<EarlyStopping>(EarlyStoppingOptions{.monitor = "score", .patience = 9});
  CHECK(t.learn.metric_names() == std::vector<std::string>{"score"});
  const std::string table = table_of(t, 2);
  CAPTURE(table);
  CHECK(table.find("epoch  train_loss  valid_loss      score") == 0);
  CHECK(table.find("     2.0000  ") != std::string::npos);
  CHECK(std::count(table.begin(), table.end(), '\n') == 3);
  const CsvTable csv = read_csv(folder / "results.csv");
  CHECK(csv.header.at(4) == "score");
  CHECK(csv.rows.at(1).at(4) == "2");
  CHECK(recorder.epochs().at(1).metrics ==
        std::vector<std::pair<std::string, double>>{{"score", 2.0}});
  CHECK(saver.best_epoch() == 1);
  CHECK(*saver.monitor().best() == 1);
  CHECK(SafetensorsFile(folder / "last.safetensors")
            .metadata()
            .at("state.callbacks.recorder.metrics") == "score\n");
}

TEST_CASE("a value that appears late gets a new header, and a warning if it has no column") {
  const TemporaryFolder folder;
  Training t({2}, {2});
  t.learn.add<Score>(1);
  auto& recorder = t.learn.add<Recorder>();
  t.learn.add<CsvLogger>(folder / "results.csv");
  log::set_file((folder / "log").string());
  const std::string table = table_of(t, 3);
  log::set_file({});
  CAPTURE(table);
  CHECK(std::count(table.begin(), table.end(), '\n') == 5);  // two titles, three rows
  CHECK(table.find("     3.0000  ") != std::string::npos);
  const CsvTable csv = read_csv(folder / "results.csv");
  CHECK_FALSE(csv.column("score").has_value());
  CHECK(csv.rows.size() == 3);
  const std::string log = read_text_file(folder / "log");
  const auto warning = log.find("'score' appeared after the first epoch");
  REQUIRE(warning != std::string::npos);
  CHECK(log.find("appeared after", warning + 20) == std::string::npos);  // once
  CHECK(recorder.epochs().at(0).metrics.empty());
  CHECK(recorder.epochs().at(2).metrics.size() == 1);
}

TEST_CASE("an unannounced value of the first epoch has its column") {
  const TemporaryFolder folder;
  Training t({2}, {2});
  on(t.learn, Event::validate_end, [](Learner& l) { l.add_metric("two", 2); });
  t.learn.add<Recorder>();
  t.learn.add<CsvLogger>(folder / "results.csv");
  t.learn.fit(2, 0.1);
  const CsvTable csv = read_csv(folder / "results.csv");
  CHECK(csv.header.at(4) == "two");
  CHECK(csv.rows.size() == 2);
  CHECK(csv.rows.at(0).at(4) == "2");
}

TEST_CASE("a table prints its header once, with an unannounced metric") {
  Training t({2}, {2});
  on(t.learn, Event::validate_end, [](Learner& l) { l.add_metric("two", 2); });
  t.learn.add<Recorder>();
  const std::string table = table_of(t, 2);
  CAPTURE(table);
  CHECK(table.find("epoch  train_loss  valid_loss        two") == 0);
  CHECK(table.find("epoch", 1) == std::string::npos);
  CHECK(std::count(table.begin(), table.end(), '\n') == 3);
}

TEST_CASE("values are added at validate_end, and replaced by their name") {
  Training t({2}, {2});
  const Callback& early =
      on(t.learn, Event::validate_begin, [](Learner& l) { l.add_metric("x", 1); });
  CHECK_THROWS_WITH_AS(t.learn.validate(),
                       doctest::Contains("add_metric may be called only in validate_end"),
                       std::logic_error);
  t.learn.remove(early);
  on(t.learn, Event::validate_end, [](Learner& l) {
    l.add_metric("x", 1);
    l.add_metric("x", 2);
  });
  t.learn.validate();
  CHECK(t.learn.results().metrics == std::vector<std::pair<std::string, double>>{{"x", 2.0}});
}

TEST_CASE("a learner refuses a metric that needs more classes than its model has") {
  LearnerOptions options;
  options.metrics = {metrics::top_k(5)};
  CHECK_THROWS_WITH_AS(Training({2}, {2}, options),
                       "metric 'top_5' needs at least 5 classes, but there are 3",
                       UsageError);
}
