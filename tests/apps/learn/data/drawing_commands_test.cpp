#include "apps/learn/cli/command_line.h"
#include "apps/learn/data/show_batch.h"
#include "apps/learn/training/show_schedule.h"
#include "framework/io/atomic_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace learn;
using namespace learn::cli;

TEST_CASE("show-batch has the training options that affect the content of batches") {
  ShowBatchOptions options;
  const OptionTable table = options.table();
  for (const char* const name : {"data", "augment", "seed", "config", "preset", "images", "out"})
    CHECK(table.find(name) != nullptr);
  for (const char* const name : {"epochs", "model", "name", "resume", "precision"})
    CHECK(table.find(name) == nullptr);
  const TemporaryFolder folder;
  const std::string config = folder / "c.toml";
  // The configuration of a run has all options of a training.
  write_file_atomically(config, "[train]\naugment = \"none\"\nmodel = \"mlp\"\nout = \"runs\"\n");
  options.resolve(table, {{"config", config}, {"seed", "5"}, {"out", "a.svg"}, {"valid", "true"}});
  CHECK(options.train.experiment.training.augment == "none");
  CHECK(options.train.experiment.device.seed == 5);
  CHECK(options.out == "a.svg");
  CHECK(options.valid);
}

TEST_CASE("show-schedule has the options of a training that move hyper-parameters") {
  ShowScheduleOptions options;
  const OptionTable table = options.table();
  for (const char* const name : {"epochs", "schedule", "lr", "callbacks", "split", "out"})
    CHECK(table.find(name) != nullptr);
  for (const char* const name : {"augment", "name", "device", "dropout"})
    CHECK(table.find(name) == nullptr);
  options.resolve(table, {{"epochs", "3"}, {"out", "there.png"}});
  CHECK(options.train.experiment.training.epochs == 3);
  CHECK(options.out == "there.png");
  CHECK(options.train.experiment.run.out == "runs");  // of a training, which does not exist
  CHECK_THROWS_AS(options.resolve(table, {{"epochs", "none"}}), UsageError);
}

TEST_CASE("both draw what is requested") {
  const TemporaryFolder folder;
  ShowBatchOptions show;
  show.train.experiment.data.data = "synthetic10";
  show.train.experiment.data.train_limit = ImageLimit(50);
  show.images = 3;
  show.out = folder / "show.svg";
  CHECK(show_batch(show) == 0);
  CHECK(read_text_file(show.out).find("<title>synthetic10: training images</title>") !=
        std::string::npos);
  show.valid = true;
  CHECK(show_batch(show) == 0);
  CHECK(read_text_file(show.out).find("not augmented") != std::string::npos);
  show.out = folder / "show.bmp";
  CHECK_THROWS_AS(show_batch(show), UsageError);

  ShowScheduleOptions plan;
  plan.train.experiment.data = show.train.experiment.data;
  plan.train.experiment.training.schedule = "cosine";
  plan.train.experiment.device.device = "cuda";  // nothing is computed: it need not be there
  plan.out = folder / "schedule.svg";
  CHECK(show_schedule(plan) == 0);
  const std::string svg = read_text_file(plan.out);
  CHECK(svg.find("<title>cosine, adamw</title>") != std::string::npos);
  CHECK(svg.find("momentum or beta1") != std::string::npos);
  plan.out = folder / "schedule.gif";
  CHECK_THROWS_AS(show_schedule(plan), UsageError);
}

TEST_CASE("a subset of the training options is selected by name") {
  TrainOptions options;
  CHECK(some_of_train(options, {"lr", "epochs"}).all().size() == 2);
  CHECK_THROWS_WITH_AS((void)some_of_train(options, {"lr", "rate"}),
                       doctest::Contains("option 'rate' to keep does not exist"),
                       std::logic_error);
}
