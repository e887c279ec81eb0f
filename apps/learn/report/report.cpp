#include "apps/experiment/saved_run.h"
#include "apps/learn/cli/command.h"
#include "apps/learn/report/report_page.h"
#include "apps/learn/report/run_report.h"
#include "apps/learn/runs/run_texts.h"
#include "framework/core/console.h"
#include "framework/io/output_place.h"
#include "framework/runs/result_path.h"
#include "framework/runs/saved_weights.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace learn::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;  ///< their folders, or "last"
  std::string out;                ///< empty: report.html in the folder of a run, or here of several
  RunReportOptions run;

  /// The options, bound to these fields.
  [[nodiscard]] OptionTable table();
};

namespace fs = std::filesystem;

/// Throws UsageError for an option that affects only parts that are not requested.
void check_without_evaluation(ReportOptions options) {
  std::vector<std::string_view> used{"out", "evaluate", "images", "threads"};
  if (options.run.images > 0) used.emplace_back("data-dir");
  ReportOptions defaults;
  const OptionTable given = options.table();
  const OptionTable usual = defaults.table();
  for (const Option& option : given.all())
    if (option.toml() != usual.find(option.name)->toml() &&
        std::ranges::find(used, option.name) == used.end())
      fail<UsageError>("--{} has no effect with --no-evaluate: nothing is measured", option.name);
}

OptionTable ReportOptions::table() {
  OptionTable t;
  t.group("Options");
  t.text("out", out, "FILE", "HTML file to write").when_absent =
      "report.html in the folder of the run, of several here";
  t.text("weights", run.weights, "best|last|...", "checkpoints to evaluate").when_absent = "best";
  t.flag("evaluate", run.evaluate, "evaluate the model on its validation images");
  t.number("top-losses",
           run.top_losses,
           {.low = 0, .high = 1000},
           "N",
           "show the N images with the largest loss");
  t.number("images",
           run.images,
           {.low = 0, .high = 1000},
           "N",
           "show N training images, original and augmented");
  t.text("data-dir", run.data_dir, "DIR", "folder of the data sets");
  t.number(
       "batch-size", run.measuring.batch_size, {.low = 1, .high = 1 << 20}, "N", "images per batch")
      .short_name = "b";
  t.number("workers",
           run.measuring.workers,
           {.low = 0, .high = 64},
           "N",
           "threads that prepare batches");
  run.compute.declare(t);
  return t;
}

/// `learn report RUN...`: writes the page of one run, or of several next to each other, and prints
/// its path. Returns the exit code. Throws Error.
int report(const ReportOptions& options) {
  if (!options.run.evaluate) check_without_evaluation(options);
  std::vector<fs::path> folders;
  for (const std::string& name : options.runs) folders.push_back(run_folder(name, "runs"));
  check_named_once(folders);
  std::vector<RunReport> runs;
  fs::path out = options.out;
  if (!out.empty()) {
    check_output(out);
    check_result_path(out, data_sources(folders));
  }
  for (const fs::path& folder : folders) {
    runs.push_back(report_run(folder, options.run));
    if (out.empty()) out = options.runs.size() == 1 ? folder / "report.html" : "report.html";
  }
  html::save(out, report_page(runs));
  console::print(fmt::format("-> {}\n", out.string()));
  return 0;
}

}  // namespace

void register_report(Commands& commands) {
  commands.add<ReportOptions>(
      {.name = "report",
       .group = Group::runs,
       .place = 1,
       .help = "write an HTML report of one or several runs",
       .arguments = {{.name = "RUN|last",
                      .help = "names of runs in ./runs, run folders, or the latest run",
                      .required = true,
                      .several = true}},
       .examples = {{"Write the report of the latest run", "learn report last"},
                    {"Compare two runs", "learn report runs/train runs/train-2 --out both.html"}}},
      [](ReportOptions& o, const Parsed& parsed) {
        o.runs = parsed.arguments[0];
        return report(o);
      });
}

}  // namespace learn::cli
