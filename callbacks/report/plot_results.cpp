#include "callbacks/report/plot_results.h"

#include "callbacks/registry.h"
#include "callbacks/report/training_figures.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"

#include <array>
#include <string>
#include <vector>

namespace learn::callbacks {

std::vector<std::string> PlotResults::claims() const {
  return {fmt::format("draw into '{}'", folder_.lexically_normal().string())};
}

void PlotResults::train_begin(Learner& learn) { (void)recorder_of(learn, name()); }

void PlotResults::train_end(Learner& learn) {
  Recorder& recorder = recorder_of(learn, name());
  const std::array run{RunHistory{title_, recorder.batches(learn), recorder.epochs()}};
  if (run[0].batches.empty()) return;
  plot::save(folder_ / "results.png", results_figure(title_, run));
  plot::save(folder_ / "lr_schedule.png", schedule_figure(title_, run));
}

void register_plot_results(CallbackRegistry& registry) {
  struct Options {
    std::filesystem::path folder;
    std::optional<std::string> title;
  };
  registry.add(
      "plot_results",
      "plots losses, metrics and schedule when training ends",
      Options{},
      [](OptionTable& t, Options& o) {
        t.text("folder", o.folder, "DIR", "relative to the folder of the run");
        t.text("title", o.title, "TEXT", "title of the plots").when_absent = "that of the run";
      },
      [](const Options& o, const RunSettings& run) {
        return make_callback<PlotResults>(
            Role::reports, run.folder / o.folder, o.title.value_or(run.title));
      });
}

}  // namespace learn::callbacks
