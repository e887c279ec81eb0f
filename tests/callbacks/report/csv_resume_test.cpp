// results.csv has each epoch once, whatever happened between the fits that wrote it.
#include "callbacks/lambda.h"
#include "callbacks/report/csv_logger.h"
#include "framework/io/atomic_file.h"
#include "framework/io/csv.h"
#include "framework/learner/history/recorder.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/memory_state.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace tiny;
using namespace learn::callbacks;

namespace {

struct Run {
  explicit Run(const TemporaryFolder& folder) : file(folder / "results.csv") {
    t.learn.add<Recorder>();
    t.learn.add<CsvLogger>(file);
  }
  void resume(const test::MemoryState& state, std::int64_t epochs) {
    test::load(t.ctx, state, t.learn);
    t.learn.resume();
    t.learn.fit(epochs, 0.01);
  }
  std::filesystem::path file;
  Training t{{1}, {1}};
};

/// The state at the end of each epoch of a fit that is stopped after `stop` of them.
std::vector<test::MemoryState> run_until(Run& run, std::int64_t epochs, std::int64_t stop) {
  std::vector<test::MemoryState> states;
  on(
      run.t.learn,
      Event::epoch_end,
      [&](Learner& l) {
        states.push_back(test::save(run.t.ctx, l));
        if (l.progress().epoch_clock == stop) l.cancel(Scope::train);
      },
      "stop",
      1000);
  run.t.learn.fit(epochs, 0.01);
  return states;
}

/// Whether the file has the rows of epochs 1 to `epochs`, each once.
bool holds(const std::filesystem::path& file, std::int64_t epochs) {
  const CsvTable table = read_csv(file);
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    if (table.rows[i][0] != std::to_string(i + 1)) return false;
  return static_cast<std::int64_t>(table.rows.size()) == epochs;
}

}  // namespace

TEST_CASE("a resumed run keeps the rows it continues from and drops later ones") {
  const TemporaryFolder folder;
  Run first(folder);
  const auto states = run_until(first, 9, 5);
  std::vector<std::vector<std::string>> before = read_csv(first.file).rows;
  REQUIRE(before.size() == 5);
  Run second(folder);
  second.resume(states.at(2), 9);
  CHECK(holds(second.file, 9));
  auto after = read_csv(second.file).rows;
  before.resize(3);
  after.resize(3);
  CHECK(after == before);  // with their times
}

TEST_CASE("rows of epochs that the recorder no longer knows stay") {
  constexpr std::int64_t kMany = EpochHistory::kCapacity + 6;
  const TemporaryFolder folder;
  test::MemoryState last;
  {
    Training first({1}, {1});
    auto& recorder = first.learn.add<Recorder>();
    on(first.learn, Event::epoch_end, [&](Learner& l) {
      if (l.progress().epoch_clock == kMany) l.cancel(Scope::train);
    });
    first.learn.fit(kMany + 3, 0.01);
    CHECK(static_cast<std::int64_t>(recorder.epochs().size()) < kMany);
    last = test::save(first.ctx, first.learn);
  }
  Training second({1}, {1});
  second.learn.add<Recorder>();
  second.learn.add<CsvLogger>(folder / "results.csv");
  {  // one row for each would take seconds
    CsvWriter file(folder / "results.csv", {"epoch", "lr"});
    std::vector<std::vector<Cell>> rows;
    for (std::int64_t epoch = 1; epoch <= kMany + 2; ++epoch)
      rows.push_back({static_cast<double>(epoch), 7.0});
    file.rows(rows);
  }
  on(second.learn, Event::epoch_end, [](Learner&) {});
  test::load(second.ctx, last, second.learn);
  second.learn.resume();
  second.learn.fit(kMany + 3, 0.01);
  CHECK(holds(folder / "results.csv", kMany + 3));
  const CsvTable table = read_csv(folder / "results.csv");
  CHECK(table.rows.at(kMany - 1).at(1) == "7");
  CHECK(table.rows.at(kMany).at(1) == "0.01");
}

TEST_CASE("without a file, or with a torn one, the rows are those that the recorder knows") {
  for (const bool torn : {false, true}) {
    CAPTURE(torn);
    const TemporaryFolder folder;
    Run first(folder);
    const auto states = run_until(first, 6, 4);
    std::filesystem::remove(first.file);
    if (torn) std::ofstream(first.file) << "epoch,time\n1,2\n2";
    Run second(folder);
    second.resume(states.at(2), 6);
    CHECK(holds(second.file, 6));
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  }
}

TEST_CASE("a new run overwrites the file") {
  const TemporaryFolder folder;
  Run first(folder);
  first.t.learn.fit(3, 0.01);
  Run second(folder);
  second.t.learn.fit(1, 0.01);
  CHECK(holds(second.file, 1));
}
