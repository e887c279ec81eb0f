#include "apps/learn/training/lr_find.h"

#include "framework/io/atomic_file.h"
#include "framework/io/csv.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace learn;
using namespace learn::cli;

TEST_CASE("a rate finder takes the options of a training that matter in single steps") {
  LrFindCommandOptions options;
  const OptionTable table = options.table();
  for (const char* const name : {"data",
                                 "optimizer",
                                 "precision",
                                 "accumulate",
                                 "config",
                                 "lr",
                                 "sync-bn",
                                 "bucket",
                                 "rank-timeout"})
    CHECK(table.find(name) != nullptr);
  for (const char* const name :
       {"out", "resume", "ema", "schedule", "epochs", "plots", "rank-logs"})
    CHECK(table.find(name) == nullptr);
  const TemporaryFolder folder;
  const std::string config = folder / "c.toml";
  write_file_atomically(config, "[train]\nepochs = 3\nschedule = \"linear\"\nplots = false\n");
  options.resolve(table,
                  {{"config", config}, {"start", "1e-5"}, {"stop", "false"}, {"optimizer", "sgd"}});
  CHECK(options.sweep.start == 1e-5);
  CHECK_FALSE(options.sweep.stop);
  CHECK(options.train.experiment.training.optimizer == "sgd");
}

TEST_CASE("a rate finder writes the curve and leaves no run") {
  const TemporaryFolder folder;
  LrFindCommandOptions options;
  const OptionTable table = options.table();
  options.resolve(table,
                  {{"data", "synthetic10"},
                   {"train-limit", "32"},
                   {"width", "2"},
                   {"batch-size", "16"},
                   {"threads", "1"},
                   {"device", "cpu"},
                   {"iterations", "8"},
                   {"plot", folder / "lr.png"},
                   {"csv", folder / "lr.csv"}});
  CHECK(lr_find(options, table) == 0);
  const CsvTable curve = read_csv(folder / "lr.csv");
  CHECK(curve.header == std::vector<std::string>{"update", "lr", "loss", "smoothed"});
  CHECK(curve.rows.size() == 8);
  CHECK(curve.rows[0][1] == "1e-07");
  // All digits of a loss in f32 that fastai's rules need to find the same.
  for (const std::vector<std::string>& row : curve.rows)
    for (const std::size_t column : {std::size_t{1}, std::size_t{2}, std::size_t{3}})
      CHECK(fmt::format("{}", std::stof(row[column])) == row[column]);
  CHECK(std::ranges::any_of(curve.rows, [](const auto& row) { return row[3].size() > 8; }));
  CHECK(std::filesystem::file_size(folder / "lr.png") > 1000);
}

TEST_CASE("the suggestion after a sweep keeps the ratio of the given rates") {
  LrFindResult found{.ended = LrFindEnd::exploded};
  found.suggestions = {.valley = 0.00341, .slide = {}, .minimum = {}, .steep = {}, .fall = 0.5};
  CHECK(advice_of(found, {}) == "learn train --lr 0.0034 with the same options");
  CHECK(advice_of(found, {0.3}) == "learn train --lr 0.0034 with the same options");
  CHECK(advice_of(found, {1e-5, 1e-3}) == "learn train --lr 3.4e-05:0.0034 with the same options");
  CHECK(advice_of(found, {1, 2, 4}) ==
        "learn train --lr 0.00085:0.0017:0.0034 with the same options");
}

TEST_CASE("a sweep that saw too little gives no suggestion") {
  LrFindResult found{.ended = LrFindEnd::interrupted};
  found.suggestions = {.valley = 1e-7, .slide = {}, .minimum = {}, .steep = {}, .fall = 0.5};
  CHECK(advice_of(found, {}) == "no suggestion: the sweep was interrupted");
  found.ended = LrFindEnd::done;
  found.suggestions.fall = 0.001;
  CHECK(advice_of(found, {}) ==
        "no suggestion: the loss fell by at most 0.1 % before the last five updates; more "
        "--iterations, larger batches or a larger --end may show more");
  LrFindResult early{.ended = LrFindEnd::exploded};
  CHECK(advice_of(early, {}) ==
        "no suggestion: the loss fell by at most 0.0 % before the last five updates; a smaller "
        "--start or more --iterations may show more");
}
