#include "apps/experiment/reporting.h"

#include "callbacks/checkpointer.h"
#include "callbacks/registry.h"
#include "callbacks/report/csv_logger.h"
#include "callbacks/report/metrics_log.h"
#include "callbacks/report/plot_results.h"
#include "callbacks/report/skip_report.h"
#include "data/show/predictions_grid.h"
#include "framework/learner/history/progress.h"
#include "framework/learner/history/recorder.h"

namespace learn {
namespace {

template <class C, class... Args>
void add_unless_there(Learner& learn, Args&&... args) {
  if (learn.find<C>() == nullptr) learn.add<C>(std::forward<Args>(args)...);
}

/// Returns "runs/train: small on cifar10", which marks generated images.
std::string title_of(const std::filesystem::path& folder,
                     const ExperimentOptions& options,
                     const data::Dataset& data) {
  const bool unsaid = data.synthetic && data.name.find("synthetic") == std::string::npos;
  return fmt::format("{}: {} on {}{}",
                     folder.filename().string(),
                     options.model.model,
                     data.name,
                     unsaid ? " (synthetic)" : "");
}

}  // namespace

void add_progress(Learner& learn, const RunSection& options) {
  add_unless_there<Recorder>(learn);
  add_unless_there<Progress>(
      learn, ProgressOptions{.live = options.progress ? Live::automatic : Live::off});
  add_unless_there<callbacks::SkipReport>(learn);
}

void add_reporting(Experiment& experiment,
                   const std::filesystem::path& folder,
                   const std::string& config) {
  Learner& learn = experiment.learner();
  const RunSection& options = experiment.options().run;
  const data::Normalization normalization = experiment.loaders().normalization();
  const std::vector<std::string>& classes = experiment.data().train.classes;
  const data::TargetKind kind = experiment.data().train.target_kind;
  const callbacks::DrawSamples draw_samples =
      [=](Context& ctx, const Batch& batch, const Tensor& outputs, const auto& what) {
        return data::batch_grid(ctx, batch, outputs, classes, normalization, what, kind);
      };
  const callbacks::RunSettings run{
      .folder = folder,
      .title = title_of(folder, experiment.options(), experiment.data().train),
      .monitor = options.monitor,
      .metadata = experiment.metadata(config),
      .draw_samples = draw_samples,
      .targets = kind};
  callbacks::add_from_texts(learn, options.callbacks, callbacks::Role::reports, run);
  add_progress(learn, options);
  add_unless_there<callbacks::CsvLogger>(learn, folder / "results.csv");
  add_unless_there<callbacks::MetricsLog>(
      learn, callbacks::MetricsLogOptions{.path = folder / "metrics.jsonl"});
  add_unless_there<callbacks::Checkpointer>(
      learn,
      callbacks::CheckpointerOptions{.folder = folder / "weights",
                                     .every = options.save_every,
                                     .monitor = options.monitor,
                                     .metadata = run.metadata});
  if (options.plots) add_unless_there<callbacks::PlotResults>(learn, folder, run.title);
}

}  // namespace learn
