#include "callbacks/plot_results.h"

#include "callbacks/registry.h"
#include "framework/learner/learner.h"
#include "framework/learner/recorder.h"
#include "framework/report/plot.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace learn::callbacks {
namespace {

using plot::Panel;
using plot::Series;

Series of_batches(const std::vector<BatchRecord>& batches,
                  std::string name,
                  const std::function<double(const BatchRecord&)>& value) {
  Series series{.name = std::move(name)};
  for (const BatchRecord& batch : batches) {
    series.x.push_back(batch.epoch);
    series.y.push_back(value(batch));
  }
  return series;
}

Series of_epochs(const std::vector<EpochRecord>& epochs,
                 std::string name,
                 const std::function<double(const EpochRecord&)>& value) {
  Series series{.name = std::move(name), .markers = true};
  for (const EpochRecord& epoch : epochs) {
    series.x.push_back(static_cast<double>(epoch.epoch));
    series.y.push_back(value(epoch));
  }
  return series;
}

/// A record of several batches is a line between the lowest loss and the highest.
Series raw_losses(const std::vector<BatchRecord>& batches) {
  Series raw{.name = "", .faint = true};
  for (const BatchRecord& batch : batches) {
    raw.x.push_back(batch.epoch);
    raw.y.push_back(batch.lowest_loss);
    if (batch.merged == 1) continue;
    raw.x.push_back(batch.epoch);
    raw.y.push_back(batch.highest_loss);
  }
  return raw;
}

Panel loss_panel(const std::vector<BatchRecord>& batches, const std::vector<EpochRecord>& epochs) {
  return {
      .title = "loss",
      .x_label = "epoch",
      .series = {raw_losses(batches),
                 of_batches(batches, "train", [](const BatchRecord& b) { return b.smooth_loss; }),
                 of_epochs(epochs, "valid", [](const EpochRecord& e) { return e.valid_loss; })},
      .integer_x = true};
}

/// NaN in an epoch that did not have it: the line has a gap there.
double metric_of(const EpochRecord& epoch, const std::string& name) {
  for (const auto& [known, value] : epoch.metrics)
    if (known == name) return value;
  return std::numeric_limits<double>::quiet_NaN();
}

Panel metrics_panel(const std::vector<EpochRecord>& epochs) {
  Panel panel{.title = "metrics", .x_label = "epoch", .integer_x = true};
  for (const auto& metric : epochs.back().metrics)
    panel.series.push_back(of_epochs(
        epochs, metric.first, [&](const EpochRecord& e) { return metric_of(e, metric.first); }));
  return panel;
}

Panel batch_panel(const std::vector<BatchRecord>& batches,
                  const std::string& title,
                  const std::function<double(const BatchRecord&)>& value) {
  return {.title = title,
          .x_label = "epoch",
          .series = {of_batches(batches, "", value)},
          .integer_x = true};
}

}  // namespace

std::vector<std::string> PlotResults::claims() const {
  return {fmt::format("draw into '{}'", folder_.lexically_normal().string())};
}

void PlotResults::train_begin(Learner& learn) { (void)recorder_of(learn, name()); }

void PlotResults::train_end(Learner& learn) {
  Recorder& recorder = recorder_of(learn, name());
  const std::vector<BatchRecord>& batches = recorder.batches(learn);
  const std::vector<EpochRecord>& epochs = recorder.epochs();
  if (batches.empty()) return;

  plot::Figure results{.title = title_, .panels = {loss_panel(batches, epochs)}};
  if (!epochs.empty() && !epochs.back().metrics.empty())
    results.panels.push_back(metrics_panel(epochs));
  plot::save(folder_ / "results.png", results);

  plot::Figure schedule{.title = title_};
  schedule.panels.push_back(batch_panel(
      batches, "learning rate", [](const BatchRecord& b) { return static_cast<double>(b.lr); }));
  schedule.panels.push_back(batch_panel(
      batches, "momentum", [](const BatchRecord& b) { return static_cast<double>(b.momentum); }));
  bool moved = false;
  for (const BatchRecord& batch : batches)
    moved = moved || batch.loss_scale != batches.front().loss_scale;
  if (moved) {
    schedule.panels.push_back(batch_panel(batches, "loss scale", [](const BatchRecord& b) {
      return static_cast<double>(b.loss_scale);
    }));
    schedule.panels.back().log_y = true;
  }
  plot::save(folder_ / "lr_schedule.png", schedule);
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
        t.text("title", o.title, "TEXT", "title of the plots; default: that of the run");
      },
      [](const Options& o, const RunSettings& run) {
        return make_callback<PlotResults>(
            Role::reports, run.folder / o.folder, o.title.value_or(run.title));
      });
}

}  // namespace learn::callbacks
