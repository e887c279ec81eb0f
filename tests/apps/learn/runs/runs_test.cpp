#include "apps/learn/runs/runs.h"

#include "apps/learn/runs/run_comparison.h"
#include "apps/learn/runs/run_listing.h"
#include "apps/learn/runs/run_removal.h"
#include "apps/learn/runs/run_texts.h"
#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "framework/io/csv.h"
#include "framework/runs/folder_lock.h"
#include "framework/runs/run_dir.h"
#include "framework/terminal/text_table.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <sstream>

using namespace learn;
using namespace learn::cli;
namespace fs = std::filesystem;

namespace {

RunEntry entry(const std::string& name) {
  RunEntry run{.path = "runs/" + name, .name = name, .status = "finished"};
  run.record.status = "finished";
  run.record.model = "small";
  run.record.dataset = "synthetic10";
  run.record.precision = "fp32";
  run.record.started = "2026-01-01T00:00:00Z";
  run.record.epochs = run.record.epochs_done = 3;
  return run;
}

RunEntry with_result(const std::string& name, double accuracy, double loss) {
  RunEntry run = entry(name);
  run.record.best = RunRecord::Best{"accuracy", accuracy, 2};
  run.record.results = {{"accuracy", accuracy}, {"valid_loss", loss}};
  return run;
}

RunEntry damaged(const std::string& name) {
  RunEntry run{.path = "runs/" + name, .name = name, .status = "damaged"};
  run.problem = "run.json is torn";
  return run;
}

std::string order(std::vector<RunEntry> runs, const std::string& key, bool reverse = false) {
  sort_runs(runs, key, reverse);
  std::string names;
  for (const RunEntry& run : runs) names += (names.empty() ? "" : " ") + run.name;
  return names;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Returns the line that starts with these words, without runs of spaces; empty if it is missing.
std::string line_of(const std::string& text, const std::string& words) {
  for (const std::string& line : lines_of(text)) {
    std::string plain;
    for (const char c : line)
      if (c != ' ' || (!plain.empty() && plain.back() != ' ')) plain += c;
    if (plain.starts_with(words)) return plain;
  }
  return {};
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

fs::path make_run(const fs::path& root, const std::string& name, const std::string& config) {
  const RunDir dir = RunDir::create(root, name);
  dir.write(with_result(name, 0.5, 1.5).record);
  if (!config.empty()) write_file_atomically(dir.path() / "config.toml", config);
  return dir.path();
}

}  // namespace

TEST_CASE("runs are sorted by the requested column, those without a value last") {
  std::vector<RunEntry> runs{with_result("b-10", 0.5, 2),
                             damaged("torn"),
                             with_result("b-2", 0.75, 3),
                             with_result("a", 0.25, 1),
                             entry("none")};
  runs[0].record.started = "2026-01-03T00:00:00Z";
  runs[2].record.started = "2026-01-02T00:00:00Z";
  runs[3].record.started = "2026-01-01T00:00:01Z";
  runs[0].seconds = 5;
  runs[3].seconds = 9;
  runs[0].bytes = 3;
  runs[1].bytes = 9;
  CHECK(order(runs, "name") == "a b-2 b-10 none torn");
  CHECK(order(runs, "name", true) == "torn none b-10 b-2 a");
  CHECK(order(runs, "started") == "none a b-2 b-10 torn");
  CHECK(order(runs, "started", true) == "b-10 b-2 a none torn");
  CHECK(order(runs, "best") == "b-2 b-10 a none torn");
  CHECK(order(runs, "accuracy") == "b-2 b-10 a none torn");
  CHECK(order(runs, "valid_loss") == "a b-10 b-2 none torn");
  CHECK(order(runs, "valid_loss", true) == "b-2 b-10 a none torn");
  CHECK(order(runs, "time") == "a b-10 b-2 none torn");
  CHECK(order(runs, "size") == "torn b-10 a b-2 none");
  runs[0].record.results["valid_loss"] = std::numeric_limits<double>::quiet_NaN();
  CHECK(order(runs, "valid_loss") == "a b-2 b-10 none torn");
  // A best loss is not an accuracy.
  runs[3].record.best = RunRecord::Best{"valid_loss", 0.9, 1};
  runs[4].record.best = RunRecord::Best{"valid_loss", 0.8, 1};
  CHECK(order(runs, "best") == "b-2 b-10 none a torn");
  CHECK_THROWS_WITH_AS(sort_runs(runs, "valid_los", false),
                       doctest::Contains("did you mean 'valid_loss'?"),
                       UsageError);
}

TEST_CASE("a table shows all columns that fit, and lists those that do not") {
  std::vector<RunEntry> runs{with_result("train", 0.5, 2), with_result("train-2", 0.75, 12.5)};
  runs[1].record.precision = "fp16";
  const std::string wide = runs_table(runs, 0);
  for (const char* const title : {"name",
                                  "status",
                                  "model",
                                  "data",
                                  "precision",
                                  "epochs",
                                  "best accuracy",
                                  "valid_loss",
                                  "started",
                                  "time",
                                  "size"})
    CHECK(has(lines_of(wide).front(), title));
  CHECK_FALSE(has(wide, "not shown"));
  CHECK(line_of(wide, "train-2")
            .starts_with("train-2 finished small synthetic10 fp16 3/3 0.7500 12.50 - "));
  for (const std::size_t width : {100U, 80U, 60U, 40U}) {
    CAPTURE(width);
    const std::string table = runs_table(runs, width);
    CHECK(display_width(lines_of(table)[0]) <= width);
    CHECK(display_width(lines_of(table)[2]) <= width);
    CHECK(has(table, "data (synthetic10 for all)"));
    CHECK(has(table, "--wide shows all"));
    CHECK(has(lines_of(table)[0], "status"));
  }
  // Their distinguishing parts are not dropped first.
  CHECK(has(lines_of(runs_table(runs, 100))[0], "precision"));

  runs[0].name = std::string(90, 'n');
  CHECK(display_width(lines_of(runs_table(runs, 80))[1]) <= 80);
  CHECK(display_width(lines_of(runs_table(runs, 0))[1]) > 100);
}

TEST_CASE("the peak learning rate of runs is listed, where it is known") {
  std::vector<RunEntry> runs{with_result("train", 0.5, 2), entry("old")};
  runs[0].record.peak_lr = 0.00998765;
  const std::string table = runs_table(runs, 0);
  CHECK(line_of(table, "name").find("valid_loss peak lr started") != std::string::npos);
  CHECK(line_of(table, "train").find(" 2.0000 0.00999 ") != std::string::npos);
  CHECK(line_of(table, "old").find(" - - ") != std::string::npos);
  CHECK(line_of(show_run(runs[0]), "peak learning rate") == "peak learning rate 0.00999");
  CHECK(line_of(show_run(runs[1]), "peak").empty());
  CHECK(line_of(compare_runs(runs, 0), "peak learning rate") == "peak learning rate 0.00999 -");
}

TEST_CASE("a damaged run is listed with what is wrong with it") {
  std::vector<RunEntry> runs{with_result("train", 0.5, 2), damaged("torn")};
  runs[1].bytes = 512;
  const std::string table = runs_table(runs, 0);
  CHECK(line_of(table, "torn damaged") == "torn damaged - - - - - - - - - 512 bytes");
  CHECK(line_of(table, "torn:") == "torn: run.json is torn");
  // Bests of several metrics name them.
  runs.push_back(entry("loss"));
  runs.back().record.best = RunRecord::Best{"valid_loss", 0.25, 1};
  CHECK(has(runs_table(runs, 0), "valid_loss 0.2500"));
  CHECK(has(runs_table(runs, 0), "accuracy 0.5000"));
}

TEST_CASE("output for programs contains everything") {
  const TemporaryFolder folder;
  const fs::path path =
      make_run(folder.path(),
               "train",
               "[train]\nlr = 0.5\nclasses = [\"a\", \"b\"]\nepochs = 3  # default\n");
  RunEntry torn = damaged("torn");
  std::vector<RunEntry> runs{look_at_run(path), torn};
  runs[0].record.results["valid_loss"] = std::numeric_limits<double>::infinity();
  runs[0].seconds = 2.5;
  runs[0].record.peak_lr = 0.25;
  runs[0].bytes = 123456789;
  write_file_atomically(folder / "table.csv", runs_csv(runs));
  const CsvTable table = read_csv(folder / "table.csv");
  REQUIRE(table.rows.size() == 2);
  const auto cell = [&](std::size_t row, const char* column) {
    return table.rows[row][table.column(column).value()];
  };
  CHECK(cell(0, "name") == "train");
  CHECK(cell(0, "best_value") == "0.5");
  CHECK(cell(0, "peak_lr") == "0.25");
  CHECK(cell(1, "peak_lr").empty());
  CHECK(cell(0, "accuracy") == "0.5");
  CHECK(cell(0, "valid_loss").empty());
  CHECK(cell(0, "size") == "123456789");
  CHECK(cell(0, "time") == "2.5");
  CHECK(cell(1, "status") == "damaged");
  CHECK(cell(1, "epochs").empty());
  CHECK(cell(1, "error") == "run.json is torn");

  const auto json = nlohmann::json::parse(runs_json(runs, true));
  CHECK(json.at(0).at("record").at("best").at("value") == 0.5);
  CHECK(json.at(0).at("settings").at("lr") == "0.5");
  CHECK(json.at(0).at("settings").at("classes") == "a,b");
  CHECK(json.at(0).at("settings").at("epochs") == "3");
  CHECK(json.at(0).at("defaults") == nlohmann::json::array({"epochs"}));
  CHECK(json.at(0).at("record").at("peak_lr") == 0.25);
  CHECK_FALSE(json.at(1).contains("defaults"));
  CHECK(json.at(0).at("time") == 2.5);
  CHECK(json.at(1).at("problem") == "run.json is torn");
  CHECK_FALSE(json.at(1).contains("record"));
  CHECK_FALSE(json.at(1).contains("settings"));
  CHECK_FALSE(nlohmann::json::parse(runs_json(runs, false)).at(0).contains("settings"));
  CHECK(runs_json({}, false) == "[]\n");
}

TEST_CASE("a comparison shows the settings that differ, and marks the best") {
  const TemporaryFolder folder;
  std::vector<RunEntry> runs;
  for (const auto& [name, config] : std::map<std::string, std::string>{
           {"a", "[train]\nepochs = 3\nlr = 0.5\nout = \"\"\n"},
           {"b", "[train]\nepochs = 3\nlr = 0.25\nclip = true\nout = \"x\"\n"}})
    runs.push_back(look_at_run(make_run(folder.path(), name, config)));
  runs[0].record.results = {{"accuracy", 0.25}, {"valid_loss", 1}, {"seconds", 3}, {"same", 1}};
  runs[1].record.results = {{"accuracy", 0.75}, {"valid_loss", 2}, {"seconds", 2}, {"same", 1}};
  runs[1].record.best->value = 0.75;
  runs[1].record.steps = {.applied = 7, .skipped = 3, .loss_scale = 8, .records = {}};
  const std::string text = compare_runs(runs, 80);
  CHECK(line_of(text, "lr") == "lr 0.5 0.25");
  CHECK(line_of(text, "clip") == "clip - true");
  CHECK(line_of(text, "out") == "out \"\" x");
  CHECK(line_of(text, "epochs") == "epochs 3/3 3/3");  // and no setting of that name
  CHECK(line_of(text, "best accuracy") == "best accuracy 0.5000 0.7500 *");
  CHECK(line_of(text, "accuracy") == "accuracy 0.2500 0.7500 *");
  CHECK(line_of(text, "valid_loss") == "valid_loss 1.0000 * 2.0000");
  CHECK(line_of(text, "seconds") == "seconds 3.0000 2.0000 *");
  CHECK(line_of(text, "same") == "same 1.0000 1.0000");
  CHECK(line_of(text, "skipped steps") == "skipped steps 0 3");
  CHECK(line_of(text, "loss scale") == "loss scale 1 8");
  CHECK(has(text, "machine, data and versions: all the same"));
  CHECK_FALSE(has(text, "validated on different images"));

  runs[1].record.valid_samples = 5;
  runs[1].record.versions["learn"] = "2";
  const std::string other = compare_runs(runs, 80);
  CHECK(line_of(other, "validation images") == "validation images 0 5");
  CHECK(line_of(other, "learn") == "learn - 2");
  CHECK(has(other, "validated on different images"));
}

TEST_CASE("settings that are defaults are marked, and the same as equal ones that were given") {
  const TemporaryFolder folder;
  std::vector<RunEntry> runs;
  for (const auto& [name, config] : std::map<std::string, std::string>{
           {"a", "[train]\nlr = [0.01]  # default\nmomentum = \"schedule\"  # default\n"},
           {"b", "[train]\nlr = [0.01]\nmomentum = 0.5\n"},
           {"c", "[train]\n"}})
    runs.push_back(look_at_run(make_run(folder.path(), name, config)));
  CHECK(line_of(show_run(runs[0]), "lr") == "lr 0.01 (default)");
  CHECK(line_of(show_run(runs[1]), "lr") == "lr 0.01");
  const std::string text = compare_runs({runs[0], runs[1]}, 0);
  CHECK(line_of(text, "lr").empty());
  CHECK(line_of(text, "momentum") == "momentum schedule (default) 0.5");
  // An older version did not write them.
  CHECK(line_of(compare_runs({runs[0], runs[2]}, 0), "lr") == "lr 0.01 (default) -");
}

TEST_CASE("a comparison distinguishes unknown values from different ones") {
  const TemporaryFolder folder;
  std::vector<RunEntry> runs{look_at_run(make_run(folder.path(), "a", "[train]\nlr = 1\n")),
                             look_at_run(make_run(folder.path(), "b", "[train\n")),
                             damaged("c")};
  runs[1].record.error = "it was too much";
  const std::string text = compare_runs(runs, 200);
  CHECK(has(text, "settings: all known ones are the same"));
  CHECK(has(text, "b: unknown settings: this is not TOML"));
  CHECK(has(text, "c: run.json is torn"));
  CHECK(has(text, "b: it was too much"));
  CHECK(line_of(text, "epochs") == "epochs 3/3 3/3 ?");
  CHECK(has(text, "versions: all the same"));
  // Bests of two metrics do not compare; runs with equal names are distinguished by their paths.
  runs[1].record.best->metric = "f1";
  runs[1].name = "a";
  const std::string mixed = compare_runs(runs, 200);
  CHECK(line_of(mixed, "best") == "best accuracy 0.5000 f1 0.5000 -");
  CHECK(has(mixed, cell_text(runs[1].path.string(), 40)));
  CHECK(has(compare_runs({entry("x"), entry("y")}, 80), "results: none yet"));
}

TEST_CASE("runs that do not fit next to each other are compared below each other") {
  std::vector<RunEntry> runs;
  for (int i = 0; i < 6; ++i) runs.push_back(with_result(fmt::format("run-{}", i), 0.1 * i, 1));
  const std::string text = compare_runs(runs, 60);
  for (const std::string& line : lines_of(text))
    if (line.find(": unknown settings") == std::string::npos) CHECK(display_width(line) <= 60);
  CHECK(has(text, "0.5000 *"));
  CHECK(lines_of(text).front().find("run-5") == std::string::npos);
  CHECK(lines_of(compare_runs(runs, 0)).front().find("run-5") != std::string::npos);
  // One that is too wide for any terminal is shown all the same.
  CHECK(has(compare_runs(runs, 5), "run-3"));
}

TEST_CASE("one run is shown in full") {
  const TemporaryFolder folder;
  RunEntry run = look_at_run(make_run(folder.path(), "a", "[train]\nlr = 0.5\npreset = \"\"\n"));
  run.record.argv = {"train", "--data", "my images"};
  run.record.status = "crashed";
  run.record.error = "no\nluck";
  run.record.ended = "soon";
  run.record.steps = {.applied = 1000, .skipped = 2, .loss_scale = 8, .records = {}};
  run.record.resumes = {{"2026-01-02T00:00:00Z", {"train", "--resume", "last"}, "bf16"}};
  run.seconds = 75;
  write_file_atomically(run.path / "weights" / "best.safetensors", "123");
  const std::string text = show_run(run);
  CHECK(line_of(text, "error") == "error no luck");
  CHECK(line_of(text, "command") == "command learn train --data 'my images'");
  CHECK(line_of(text, "best") == "best accuracy 0.5000, in epoch 2");
  CHECK(line_of(text, "steps") == "steps 1 000, 2 skipped, loss scale 8");
  CHECK(has(line_of(text, "resumed"), "in bf16: learn train --resume last"));
  CHECK(line_of(text, "ended") == "ended soon");
  CHECK(line_of(text, "time") == "time 1:15");
  CHECK(line_of(text, "weights") == "weights best (3 bytes)");
  CHECK(line_of(text, "valid_loss") == "valid_loss 1.5000");
  CHECK(line_of(text, "lr") == "lr 0.5");
  CHECK(line_of(text, "preset") == "preset \"\"");
  const std::string torn = show_run(damaged("torn"));
  CHECK(line_of(torn, "problem") == "problem run.json is torn");
  CHECK(has(torn, "unknown settings"));
}

TEST_CASE("texts of a table are short, in one line and steer no terminal") {
  CHECK(cell_text("a\tb\nc") == "a b c");
  CHECK(cell_text("\x1b[2J") == "\\x1b[2J");
  CHECK(cell_text("abcdefgh", 6) == "abc...");
  CHECK(cell_text("éèàçüößñ", 6) == "éèà...");
  CHECK(cell_text("abcdef", 6) == "abcdef");
  CHECK(number_text(std::nullopt) == "-");
  CHECK(number_text(std::nan("")) == "-");
  CHECK(number_text(0.0) == "0.0000");
  CHECK(number_text(0.98765) == "0.9877");
  CHECK(number_text(-12.345) == "-12.35");
  CHECK(number_text(123.45) == "123.5");
  CHECK(number_text(1234.5) == "1234");
  CHECK(number_text(1e7) == "1.000e+07");
  CHECK(number_text(1e-5) == "1.000e-05");
  CHECK(duration_text(std::nullopt) == "-");
  CHECK(duration_text(4.24) == "4.2 s");
  CHECK(duration_text(59.96) == "1:00");
  CHECK(moment_text("") == "-");
  CHECK(moment_text("yesterday") == "yesterday");
  CHECK(moment_text("2026-01-01T00:00:00Zulu") == "2026-01-01T00:00:...");
  CHECK(moment_text("2001-06-15T12:00:00Z").size() == 16);
  CHECK(moment_text("2001-06-15T12:00:00Z", true).starts_with("2001-06-1"));
  CHECK(moment_text(utc_now(), true).size() == 11);
  CHECK(lower_is_better("valid_loss"));
  CHECK(lower_is_better("seconds"));
  CHECK_FALSE(lower_is_better("samples_per_second"));
}

TEST_CASE("options of runs that have no effect are refused") {
  const TemporaryFolder folder;
  make_run(folder.path(), "a", "");
  const auto refused = [&](const char* why, auto change) {
    RunsOptions o{.out = folder.path().string()};
    change(o);
    CAPTURE(why);
    CHECK_THROWS_WITH_AS((void)runs(o), doctest::Contains(why), UsageError);
  };
  refused("--csv and --json", [](auto& o) { o.csv = o.json = true; });
  refused("--json always prints everything", [](auto& o) { o.wide = o.json = true; });
  refused("--sort is for the list", [](auto& o) { o.names = {"a"}, o.sort = "name"; });
  refused("--reverse is for the list", [](auto& o) { o.names = {"a"}, o.reverse = true; });
  refused("--status is for the list", [](auto& o) { o.names = {"a"}, o.status = {"gone"}; });
  refused("name the runs to remove", [](auto& o) { o.remove = true; });
  refused("leave out --wide", [](auto& o) { o.names = {"a"}, o.remove = o.wide = true; });
  refused("--yes has no effect", [](auto& o) { o.yes = true; });
  refused("unknown status 'lost'", [](auto& o) { o.status = {"lost"}; });
  refused("no run has that", [](auto& o) { o.sort = "colour"; });
  refused("this folder does not exist", [](auto& o) { *o.out += "/none"; });
  CHECK(is_run(folder / "a"));
  CHECK_THROWS_WITH_AS((void)runs({.names = {"b"}, .out = folder.path().string()}),
                       doctest::Contains("no run 'b' in"),
                       CheckpointError);
}

TEST_CASE("runs are removed all or none") {
  const TemporaryFolder folder;
  for (const char* const name : {"a", "b", "c"}) make_run(folder.path(), name, "");
  fs::create_directory(folder / "mine");
  const auto refused = [&](std::vector<std::string> names, const char* why) {
    CAPTURE(why);
    const RunsOptions o{.names = names, .out = folder.path().string(), .remove = true, .yes = true};
    CHECK_THROWS_WITH_AS((void)runs(o), doctest::Contains(why), UsageError);
    CHECK(list_runs(folder.path()).runs.size() == 3);
  };
  CHECK_THROWS_WITH_AS(
      (void)runs(
          {.names = {"a", "none"}, .out = folder.path().string(), .remove = true, .yes = true}),
      doctest::Contains("no run 'none' in"),
      CheckpointError);
  refused({"a", "mine"}, "has no run.json");
  refused({"a", "latest"}, "is a link to 'c'");
  refused({"a", "a"}, "name only one of them");
  {
    const FolderLock lock(folder / "b");
    refused({"a", "b"}, "a process is working");
  }
  make_run(folder / "a", "former-1", "");
  refused({"a/former-1", "a"}, "or is inside it");
  const RunsOptions o{
      .names = {"a", "last"}, .out = folder.path().string(), .remove = true, .yes = true};
  CHECK(runs(o) == 0);
  const RunList left = list_runs(folder.path());
  REQUIRE(left.runs.size() == 1);
  CHECK(left.runs[0].name == "b");
  CHECK(fs::is_directory(folder / "mine"));
}
