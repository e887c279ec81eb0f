#include "apps/learn/lr_find.h"

#include "framework/io/atomic_file.h"
#include "framework/io/csv.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace learn;
using namespace learn::cli;

TEST_CASE("a rate finder takes the options of a training that matter in single steps") {
  LrFindCommandOptions options;
  const OptionTable table = lr_find_table(options);
  for (const char* const name : {"data", "optimizer", "precision", "accumulate", "config", "lr"})
    CHECK(table.find(name) != nullptr);
  for (const char* const name : {"out", "resume", "ema", "schedule", "epochs", "plots"})
    CHECK(table.find(name) == nullptr);
  const TemporaryFolder folder;
  const std::string config = folder / "c.toml";
  write_file_atomically(config, "[train]\nepochs = 3\nschedule = \"linear\"\nplots = false\n");
  resolve(options,
          table,
          {{"config", config}, {"start", "1e-5"}, {"stop", "false"}, {"optimizer", "sgd"}});
  CHECK(options.sweep.start == 1e-5);
  CHECK_FALSE(options.sweep.stop);
  CHECK(options.train.experiment.training.optimizer == "sgd");
}

TEST_CASE("a rate finder writes the curve and leaves no run") {
  const TemporaryFolder folder;
  LrFindCommandOptions options;
  const OptionTable table = lr_find_table(options);
  resolve(options,
          table,
          {{"data", "synthetic10"},
           {"train-limit", "32"},
           {"width", "2"},
           {"batch-size", "16"},
           {"threads", "1"},
           {"device", "cpu"},
           {"iterations", "8"},
           {"plot", folder / "lr.png"},
           {"csv", folder / "lr.csv"}});
  CHECK(lr_find(options) == 0);
  const CsvTable curve = read_csv(folder / "lr.csv");
  CHECK(curve.header == std::vector<std::string>{"update", "lr", "loss", "smoothed"});
  CHECK(curve.rows.size() == 8);
  CHECK(curve.rows[0][1] == "1e-07");
  CHECK(std::filesystem::file_size(folder / "lr.png") > 1000);
}
