#include "apps/experiment/saved_run.h"
#include "apps/learn/cli/command.h"
#include "apps/learn/runs/run_texts.h"
#include "callbacks/report/run_history.h"
#include "callbacks/report/training_figures.h"
#include "framework/core/console.h"
#include "framework/core/format.h"
#include "framework/core/options/option_table.h"
#include "framework/runs/result_path.h"
#include "framework/runs/saved_weights.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::cli {
namespace {

struct PlotOptions {
  std::vector<std::string> runs;  ///< their folders
  std::string what = "results";   ///< or schedule
  std::string out = "plot.png";

  /// But for the arguments.
  [[nodiscard]] OptionTable table();
};

/// Draws the records in the last states of runs in one figure, and prints its path. Returns the
/// exit code. Throws Error.
int plot(const PlotOptions& o) {
  namespace cb = callbacks;
  plot::check_drawing_path(o.out);
  std::vector<std::filesystem::path> folders;
  for (const std::string& run : o.runs) folders.push_back(run_folder(run, "runs"));
  check_named_once(folders);
  check_result_path(o.out, data_sources(folders));
  std::vector<cb::RunHistory> runs;
  for (const std::filesystem::path& folder : folders) runs.push_back(cb::read_run_history(folder));
  std::vector<std::string> names;
  names.reserve(runs.size());
  for (const cb::RunHistory& run : runs) names.push_back(run.name);
  const std::string title = join(names, ", ");
  plot::save(
      o.out,
      o.what == "schedule" ? cb::schedule_figure(title, runs) : cb::results_figure(title, runs));
  console::print(fmt::format("{}\n-> {}\n", title, o.out));
  return 0;
}

OptionTable PlotOptions::table() {
  OptionTable t;
  t.group("Options");
  t.choice("what",
           what,
           {"results", "schedule"},
           "losses and metrics, or learning rate and other schedules");
  t.text("out", out, "FILE", "the drawing to write, a .png or an .svg file");
  return t;
}

}  // namespace

void register_plot(Commands& commands) {
  commands.add<PlotOptions>({.name = "plot",
                             .group = Group::runs,
                             .place = 2,
                             .help = "plot losses and metrics of one or several runs",
                             .arguments = {{.name = "RUN",
                                            .help = "names of runs in ./runs, or run folders",
                                            .required = true,
                                            .several = true}},
                             .examples = {{"Plot the losses of two runs",
                                           "learn plot runs/train runs/train-2 --out both.svg"}}},
                            [](PlotOptions& o, const Parsed& parsed) {
                              o.runs = parsed.arguments[0];
                              return plot(o);
                            });
}

}  // namespace learn::cli
