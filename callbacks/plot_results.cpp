#include "callbacks/plot_results.h"

#include "callbacks/registry.h"
#include "framework/drawing/plot.h"
#include "framework/learner/learner.h"
#include "framework/learner/recorder.h"

#include <algorithm>
#include <cmath>
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

/// Raw and smoothed values have one colour.
constexpr std::size_t kTrainColor = 0;
constexpr std::size_t kValidColor = 1;

/// A record of several batches is a line between the lowest loss and the highest.
Series raw_losses(const std::vector<BatchRecord>& batches) {
  Series raw{.name = "training, each batch", .faint = true, .color = kTrainColor};
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
  Panel panel{.title = "Loss",
              .x_label = "epoch",
              .series = {raw_losses(batches)},
              .integer_x = true,
              .y_label = "loss (mean of the images)"};
  panel.series.push_back(of_batches(
      batches, "training, smoothed", [](const BatchRecord& b) { return b.smooth_loss; }));
  panel.series.back().color = kTrainColor;
  if (std::ranges::any_of(epochs,
                          [](const EpochRecord& e) { return std::isfinite(e.valid_loss); })) {
    panel.series.push_back(
        of_epochs(epochs, "validation", [](const EpochRecord& e) { return e.valid_loss; }));
    panel.series.back().color = kValidColor;
  }
  return panel;
}

/// NaN in an epoch that did not have it: the line has a gap there.
double metric_of(const EpochRecord& epoch, const std::string& name) {
  for (const auto& [known, value] : epoch.metrics)
    if (known == name) return value;
  return std::numeric_limits<double>::quiet_NaN();
}

Panel metrics_panel(const std::vector<EpochRecord>& epochs) {
  Panel panel{.title = "Metrics",
              .x_label = "epoch",
              .integer_x = true,
              .y_label = "value on the validation images"};
  for (const auto& metric : epochs.back().metrics)
    panel.series.push_back(of_epochs(
        epochs, metric.first, [&](const EpochRecord& e) { return metric_of(e, metric.first); }));
  return panel;
}

/// `quantity`: with its unit.
Panel batch_panel(const std::vector<BatchRecord>& batches,
                  const std::string& title,
                  const std::string& quantity,
                  const std::function<double(const BatchRecord&)>& value) {
  return {.title = title,
          .x_label = "epoch",
          .series = {of_batches(batches, quantity, value)},
          .integer_x = true,
          .y_label = quantity};
}

/// A dot at each record with a step that was not made, on the line of the loss scale.
Series skips(const std::vector<BatchRecord>& batches) {
  constexpr double kGap = std::numeric_limits<double>::quiet_NaN();
  Series series{.name = "skipped step", .markers = true};
  for (const BatchRecord& batch : batches) {
    if (batch.skipped == 0) continue;
    series.x.insert(series.x.end(), {batch.epoch, kGap});
    series.y.insert(series.y.end(), {static_cast<double>(batch.loss_scale), kGap});
  }
  return series;
}

/// What half precision and measured steps add: the loss scale if it moved or a step was skipped,
/// and norms if there are any.
void add_step_panels(const std::vector<BatchRecord>& batches, plot::Figure& figure) {
  const auto any = [&](const auto& is) { return std::ranges::any_of(batches, is); };
  const auto add = [&](const char* title,
                       const char* quantity,
                       const std::function<double(const BatchRecord&)>& value) {
    figure.panels.push_back(batch_panel(batches, title, quantity, value));
    figure.panels.back().log_y = true;
  };
  const float first = batches.front().loss_scale;
  if (any([&](const BatchRecord& b) { return b.loss_scale != first || b.skipped > 0; })) {
    add("Loss scale", "factor of the loss", [](const BatchRecord& b) {
      return static_cast<double>(b.loss_scale);
    });
    figure.panels.back().series.push_back(skips(batches));
  }
  if (any([](const BatchRecord& b) { return std::isfinite(b.grad_norm); }))
    add("Gradient norm", "L2 norm before clipping", [](const BatchRecord& b) {
      return b.grad_norm;
    });
  if (any([](const BatchRecord& b) { return std::isfinite(b.update_ratio); }))
    add("Step size", "norm of the update / norm of the weights", [](const BatchRecord& b) {
      return b.update_ratio;
    });
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
  schedule.panels.push_back(
      batch_panel(batches, "Learning rate", "learning rate", [](const BatchRecord& b) {
        return static_cast<double>(b.lr);
      }));
  schedule.panels.push_back(
      batch_panel(batches, "Momentum", "momentum or beta1", [](const BatchRecord& b) {
        return static_cast<double>(b.momentum);
      }));
  add_step_panels(batches, schedule);
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
