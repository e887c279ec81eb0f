#include "apps/learn/runs/plot.h"

#include "apps/experiment/saved_run.h"
#include "apps/learn/runs/run_texts.h"
#include "callbacks/report/run_history.h"
#include "callbacks/report/training_figures.h"
#include "framework/core/console.h"
#include "framework/core/format.h"
#include "framework/runs/result_path.h"
#include "framework/runs/saved_weights.h"

#include <filesystem>

namespace learn::cli {

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

}  // namespace learn::cli
