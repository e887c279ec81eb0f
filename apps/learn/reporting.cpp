#include "apps/learn/reporting.h"

#include "apps/learn/signals.h"
#include "callbacks/checkpointer.h"
#include "callbacks/csv_logger.h"
#include "callbacks/interrupt.h"
#include "callbacks/plot_results.h"
#include "callbacks/registry.h"
#include "framework/learner/progress.h"
#include "framework/learner/recorder.h"

namespace learn::cli {
namespace {

template <class C, class... Args>
void add_unless_there(Learner& learn, Args&&... args) {
  if (learn.find<C>() == nullptr) learn.add<C>(std::forward<Args>(args)...);
}

/// "runs/train: small on cifar10"; pictures that were computed are called so.
std::string title_of(const std::filesystem::path& folder,
                     const TrainOptions& options,
                     const data::Dataset& data) {
  const bool unsaid = data.synthetic && data.name.find("synthetic") == std::string::npos;
  return fmt::format("{}: {} on {}{}",
                     folder.filename().string(),
                     options.model,
                     data.name,
                     unsaid ? " (synthetic)" : "");
}

}  // namespace

void add_progress(Learner& learn, const TrainOptions& options) {
  add_unless_there<Recorder>(learn);
  add_unless_there<Progress>(
      learn, ProgressOptions{.live = options.progress ? Live::automatic : Live::off});
  learn.add<callbacks::Interrupt>(caught_signal());
}

void add_reporting(Experiment& experiment,
                   const std::filesystem::path& folder,
                   const std::string& config) {
  Learner& learn = experiment.learner();
  const TrainOptions& options = experiment.options();
  const callbacks::RunSettings run{.folder = folder,
                                   .title = title_of(folder, options, experiment.data().train),
                                   .monitor = options.monitor,
                                   .metadata = experiment.metadata(config)};
  for (const std::string& spec : options.callbacks)
    if (callbacks::reports(spec)) callbacks::add_from_text(learn, spec, run);
  add_progress(learn, options);
  add_unless_there<callbacks::CsvLogger>(learn, folder / "results.csv");
  add_unless_there<callbacks::Checkpointer>(
      learn,
      callbacks::CheckpointerOptions{.folder = folder / "weights",
                                     .every = options.save_every,
                                     .monitor = options.monitor,
                                     .metadata = run.metadata});
  if (options.plots) add_unless_there<callbacks::PlotResults>(learn, folder, run.title);
}

}  // namespace learn::cli
