#include "framework/runs/run_record.h"

#include "framework/core/error.h"
#include "framework/runs/run_dir.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>

using namespace learn;
namespace fs = std::filesystem;

namespace {

RunRecord with_all_of_it() {
  RunRecord record;
  record.status = "diverged";
  record.exit_code = 7;
  record.argv = {"train", "--name", "é \"x\""};
  record.versions = {{"learn", "1.2"}, {"compiler", "g++"}};
  record.machine = {{"processor", "a fast one"}, {"memory", "15.5 GiB"}};
  record.seed = std::numeric_limits<std::uint64_t>::max();
  record.device = "cpu";
  record.threads = 4;
  record.model = "small:width=4";
  record.parameters = 123456;
  record.precision = "fp16";
  record.peak_lr = 0.03125;
  record.dataset = "synthetic10";
  record.synthetic = true;
  record.fingerprint = "abc";
  record.train_samples = 500;
  record.valid_samples = 100;
  record.started = "2026-11-20T12:05:17Z";
  record.resumes = {{"2026-11-21T08:00:00Z", {"train", "--resume", "last"}, "bf16"},
                    {"2026-11-22T08:00:00Z", {}, ""}};
  record.ended = "2026-11-22T09:00:00Z";
  record.epochs = 9;
  record.epochs_done = 4;
  record.best = RunRecord::Best{"accuracy", -0.875, 3};
  record.results = {{"a.metric", -1}, {"b", 0.1}, {"valid_loss", 2}};
  record.steps = {.applied = 70,
                  .skipped = 2,
                  .loss_scale = 1024,
                  .records = {{5, "skip", 4096, 2048}, {9, "growth", 1, 1024.5}}};
  record.error = "the loss is NaN";
  return record;
}

/// Returns the error of `read_run_record` for this text; empty if it is a record.
std::string problem_of(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder / "run.json") << text;
  try {
    (void)read_run_record(folder.path());
  } catch (const DataError& e) {
    const std::string what = e.what();
    const std::string_view said = "is not a valid record of a run: ";
    return what.substr(what.find(said) + said.size());
  }
  return {};
}

/// A record that has no more than it must, and `more`.
std::string record_with(const std::string& more) {
  return R"({"status": "crashed", "argv": [], "started": "")" + more + "}";
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("a record is read back as it was written, all of it") {
  const TemporaryFolder folder;
  const RunDir dir = RunDir::create(folder.path(), "train");
  const RunRecord record = with_all_of_it();
  dir.write(record);
  const RunRecord read = read_run_record(dir.path());
  CHECK(run_record_text(read) == run_record_text(record));
  CHECK(read.seed == record.seed);
  CHECK(read.results.at("a.metric") == -1);
  CHECK(read.steps.records.at(1).scale_after == 1024.5);
  CHECK(read.resumes.at(0).argv.at(1) == "--resume");
  dir.write({});
  CHECK(run_record_text(read_run_record(dir.path())) == run_record_text({}));
}

TEST_CASE("a number that was not finite is read as NaN, and a best epoch of null as missing") {
  const TemporaryFolder folder;
  const RunDir dir = RunDir::create(folder.path(), "train");
  RunRecord record;
  record.results["valid_loss"] = std::numeric_limits<double>::infinity();
  dir.write(record);
  const RunRecord read = read_run_record(dir.path());
  CHECK(std::isnan(read.results.at("valid_loss")));
  CHECK_FALSE(read.best.has_value());
}

TEST_CASE("additional or missing keys of other versions are not faults of a record") {
  CHECK(problem_of(record_with("")).empty());
  CHECK(problem_of(record_with(R"(, "new": 1, "other": {"deep": [null, {"a": [1.5, -2, true]}]})"))
            .empty());
  CHECK(problem_of(record_with(R"(, "best": {"new": "x"}, "resumes": [{"new": false}])")).empty());
  // A name that looks like the place of a value is another name.
  CHECK(problem_of(record_with(R"(, "model.name": 3, "argv[]": 4)")).empty());
  CHECK(problem_of(record_with(R"(, "": {"status": 3}, "machine": {"": "x"})")).empty());
}

TEST_CASE("an invalid record is refused with the reason and the position") {
  const auto says = [](const std::string& text, const std::string& words) {
    CAPTURE(text.substr(0, 200));
    const std::string problem = problem_of(text);
    CAPTURE(problem);
    CHECK(problem.find(words) != std::string::npos);
  };
  says(R"({"status": "x\n[run] all is well", "argv": [], "started": ""})",
       "'status' is 'x\\x0a[run] all is well', which is not a status");
  const std::string cut =
      problem_of(R"({"argv": [], "started": "", "status": ")" + repeated("\xC3\xA4", 400) + "\"}");
  CHECK(cut.ends_with("\xC3\xA4..."));
  says("", "this is not JSON: parse error at line 1, column 1: ");
  says("{ \"started\": 3", "'started' is 3");
  says(record_with("").substr(0, 30), "this is not JSON: parse error at line 1, column ");
  says(record_with(", \"error\": \"\xFF\""), "this is not JSON");
  says(record_with(R"(, "seed": 1e999)"), "this is not JSON");
  says("[]", "it is a list");
  says("3", "it is 3");
  says("null", "it is null");
  says("{}", "it has no 'status'");
  says(R"({"status": "running", "started": ""})", "it has no 'argv'");
  says(R"({"status": "tired", "argv": [], "started": ""})", "'status' is 'tired'");
  says(record_with(R"(, "status": "crashed")"), "'status' occurs twice");
  says(record_with(R"(, "error": null)"), "'error' is null");
  says(record_with(R"(, "results": null)"), "'results' is null");
  says(record_with(R"(, "results": {"loss": "low"})"), "'results.loss' is the text 'low'");
  says(record_with(R"(, "results": {"loss": {}})"), "'results.loss' is an object");
  says(record_with(R"(, "results": [])"), "'results' is a list");
  says(record_with(R"(, "versions": {"learn": 1})"), "'versions.learn' is 1");
  says(record_with(R"(, "epochs": -1)"), "'epochs' is -1");
  says(record_with(R"(, "epochs": 1.5)"), "'epochs' is 1.5");
  says(record_with(R"(, "epochs": [1])"), "'epochs' is a list");
  says(record_with(R"(, "epochs": 9223372036854775808)"), "'epochs' is 9223372036854775808, which");
  says(record_with(R"(, "threads": 2147483648)"), "'threads' is 2147483648, which is too large");
  says(record_with(R"(, "seed": true)"), "'seed' is true");
  says(record_with(R"(, "dataset": {"synthetic": 1})"), "'dataset.synthetic' is 1");
  says(record_with(R"(, "dataset": "cifar10")"), "'dataset' is the text 'cifar10'");
  says(record_with(R"(, "resumes": {})"), "'resumes' is an object");
  says(record_with(R"(, "resumes": [3])"), "'resumes[]' is 3");
  says(record_with(R"(, "resumes": [{"argv": [7]}])"), "'resumes[].argv[]' is 7");
  says(record_with(R"(, "best": {"value": [1]})"), "'best.value' is a list");
  says(record_with(R"(, "steps": {"records": [{"batch": "x"}]})"),
       "'steps.records[].batch' is the text 'x'");
}

TEST_CASE("an endless record is refused before it costs memory") {
  const auto says = [](const std::string& text, const std::string& words) {
    CHECK(problem_of(text).find(words) != std::string::npos);
  };
  says(record_with(R"(, "x": )" + std::string(4'000'000, '[')), "is nested too deeply");
  says(record_with(R"(, "x": )" + repeated("{\"x\":", 17)), "is nested too deeply");
  says(record_with(R"(, "x": [)" + repeated("0,", 300'000) + "0]"),
       "'x' has more than 300000 entries");
  std::string names;
  for (int i = 0; i < 10'001; ++i) names += fmt::format("{}\"m{}\": 1", i == 0 ? "" : ", ", i);
  says(record_with(R"(, "results": {)" + names + "}"), "more than 10000 names");
  // A long text is shown in part.
  CHECK(problem_of(record_with(R"(, "epochs": ")" + std::string(5000, 'x') + '"')).size() < 400);
  const TemporaryFolder folder;
  std::ofstream(folder / "run.json") << std::string((16U << 20U) + 1, ' ');
  CHECK_THROWS_WITH_AS(
      (void)read_run_record(folder.path()), doctest::Contains("more than"), IoError);
}

TEST_CASE("a missing record is an error, and gives no history") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS((void)read_run_record(folder.path()), IoError);
  const test::LogFile log;
  CHECK(read_past(folder.path()).status.empty());
  CHECK(log.text().empty());
  std::ofstream(folder / "run.json") << record_with(", \"epochs\": \"x\"");
  CHECK(read_past(folder.path()).status.empty());
  CHECK(log.count("'epochs' is the text 'x'") == 1);
}
