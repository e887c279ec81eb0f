#include "apps/learn/training/audit.h"

#include "framework/io/atomic_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace learn;
using namespace learn::cli;

namespace {

struct Resolved {
  AuditOptions options;
  OptionTable table = options.table();
  explicit Resolved(const OptionValues& values) { options.resolve(table, values); }
  [[nodiscard]] const ExperimentOptions& experiment() const { return options.train.experiment; }
};

}  // namespace

TEST_CASE("an audit takes the options of a training that matter in its first steps") {
  AuditOptions options;
  const OptionTable table = options.table();
  for (const char* const name : {"data", "optimizer", "precision", "preset", "config", "inject"})
    CHECK(table.find(name) != nullptr);
  for (const char* const name :
       {"sync-bn", "rank-timeout", "rank-logs", "out", "resume", "ema", "dry-run", "plots"})
    CHECK(table.find(name) == nullptr);
  const Resolved r({{"preset", "quick"}, {"lr", "0.5"}, {"steps", "3"}, {"save", "a.csv"}});
  CHECK(r.experiment().model.model == "small");
  CHECK(r.experiment().training.lr == std::vector<double>{0.5});
  CHECK(r.options.steps == 3);
  CHECK(r.options.save == "a.csv");
}

TEST_CASE("an audit uses fp16 unless a half precision is given") {
  CHECK(Resolved(OptionValues{}).experiment().precision.chosen() == "fp16");
  CHECK(Resolved(OptionValues{{"precision", "bf16-amp"}}).experiment().precision.chosen() ==
        "bf16-amp");
  CHECK(Resolved(OptionValues{{"opt-level", "O1"}}).experiment().precision.chosen() == "fp16-amp");
  CHECK(Resolved(OptionValues{{"preset", "notebook"}}).experiment().precision.loss_scale == "512");
  // The configuration of a run that worked has this form.
  const TemporaryFolder folder;
  const std::string config = folder / "c.toml";
  write_file_atomically(config, "[train]\nprecision = \"fp32\"\nplots = false\n");
  CHECK(Resolved(OptionValues{{"config", config}}).experiment().precision.chosen() == "fp16");
  CHECK(Resolved({{"config", config}, {"precision", "bf16"}}).experiment().precision.chosen() ==
        "bf16");
  write_file_atomically(config, "[train]\nopt-level = \"O1\"\n");
  CHECK(Resolved(OptionValues{{"config", config}}).experiment().precision.chosen() == "fp16-amp");
  CHECK(Resolved({{"config", config}, {"precision", "bf16"}}).experiment().precision.chosen() ==
        "bf16");
  write_file_atomically(config, "[train]\nprecision = \"fp16\"\n");
  CHECK(Resolved({{"config", config}, {"opt-level", "O1"}}).experiment().precision.chosen() ==
        "fp16-amp");
  CHECK_THROWS_WITH_AS(Resolved(OptionValues{{"precision", "fp32"}}),
                       doctest::Contains("--precision fp32: name the half precision"),
                       UsageError);
}

TEST_CASE("a table without options keeps the others and refuses unknown names") {
  AuditOptions options;
  const OptionTable table = options.table();
  const OptionTable less = table.without({"steps"});
  CHECK(less.find("steps") == nullptr);
  CHECK(less.all().size() == table.all().size() - 1);
  less.find("save")->set("b.csv");
  CHECK(options.save == "b.csv");
  CHECK_THROWS_WITH_AS((void)less.without({"steps"}),
                       doctest::Contains("option 'steps' to leave out does not exist"),
                       std::logic_error);
}
