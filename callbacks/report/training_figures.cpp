#include "callbacks/report/training_figures.h"

#include "framework/core/function_ref.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace learn::callbacks {
namespace {

using plot::Panel;
using plot::Series;
using BatchValue = FunctionRef<double(const BatchRecord&)>;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

/// Weighted sums over losses at distances d from a record: of 1, d, d^2, the loss, and d times it.
struct Moments {
  double one = 0, d = 0, dd = 0, loss = 0, d_loss = 0;

  /// Increases all distances by `step`, and reduces the weights by `decay`.
  [[nodiscard]] Moments moved(double step, double decay) const {
    return {decay * one,
            decay * (d + step * one),
            decay * (dd + 2 * step * d + step * step * one),
            decay * loss,
            decay * (d_loss + step * loss)};
  }
  [[nodiscard]] Moments plus(const Moments& o) const {
    return {one + o.one, d + o.d, dd + o.dd, loss + o.loss, d_loss + o.d_loss};
  }
  /// Returns the value at distance 0 of the straight line through the losses; NaN without losses.
  [[nodiscard]] double line_at_zero() const {
    const double determinant = one * dd - d * d;
    if (determinant > 1e-9 * one * one) return (dd * loss - d * d_loss) / determinant;
    return loss / one;
  }
};

/// Returns, for each record, the value of a line through the losses around it, whose weights fall
/// by e with each sixtieth of the training. A mean of earlier losses, like the recorder's for a
/// running training, lags: while the loss falls, it is above nearly all of them. A mean of the
/// losses around it has this problem at the ends.
std::vector<double> smoothed_losses(const std::vector<BatchRecord>& batches) {
  constexpr double kWidths = 60;
  const double total = batches.empty() ? 0 : static_cast<double>(batches.back().batch);
  const double width = std::max(2.0, total / kWidths);
  std::vector<Moments> around;
  for (const BatchRecord& batch : batches) {
    const auto weight = std::isfinite(batch.loss) ? static_cast<double>(batch.merged) : 0.0;
    around.push_back({.one = weight, .loss = weight > 0 ? weight * batch.loss : 0});
  }
  const std::vector<Moments> own = around;
  const auto pass = [&](auto& collected, std::size_t from, std::size_t to, double direction) {
    const auto step = static_cast<double>(batches[to].batch - batches[from].batch);
    collected = collected.plus(own[from]).moved(-step, std::exp(-direction * step / width));
    around[to] = around[to].plus(collected);
  };
  Moments before, after;
  for (std::size_t i = 1; i < batches.size(); ++i) pass(before, i - 1, i, 1);
  for (std::size_t i = batches.size(); i-- > 1;) pass(after, i, i - 1, -1);
  std::vector<double> values;
  values.reserve(around.size());
  for (const Moments& moments : around) values.push_back(moments.line_at_zero());
  return values;
}

Series of_batches(const RunHistory& run, std::string name, BatchValue value) {
  Series series{.name = std::move(name)};
  for (const BatchRecord& batch : run.batches) {
    series.x.push_back(batch.epoch);
    series.y.push_back(value(batch));
  }
  return series;
}

Series of_epochs(const RunHistory& run,
                 std::string name,
                 FunctionRef<double(const EpochRecord&)> value) {
  Series series{.name = std::move(name), .markers = true};
  for (const EpochRecord& epoch : run.epochs) {
    series.x.push_back(static_cast<double>(epoch.epoch));
    series.y.push_back(value(epoch));
  }
  return series;
}

/// Returns "runs/ten: training", for a single run "training".
std::string name_of(std::span<const RunHistory> runs, std::size_t run, const std::string& what) {
  return runs.size() == 1 ? what : fmt::format("{}: {}", runs[run].name, what);
}

/// Draws a record of several batches as a line between the lowest and the highest loss.
Series raw_losses(const RunHistory& run) {
  Series raw{.name = "training, each batch", .faint = true};
  for (const BatchRecord& batch : run.batches) {
    raw.x.push_back(batch.epoch);
    raw.y.push_back(batch.lowest_loss);
    if (batch.merged == 1) continue;
    raw.x.push_back(batch.epoch);
    raw.y.push_back(batch.highest_loss);
  }
  return raw;
}

bool validated(const RunHistory& run) {
  return std::ranges::any_of(run.epochs,
                             [](const EpochRecord& e) { return std::isfinite(e.valid_loss); });
}

Panel loss_panel(std::span<const RunHistory> runs) {
  Panel panel{.title = "Loss",
              .x_label = "epoch",
              .integer_x = true,
              .y_label = "loss (mean of the images)"};
  const bool single = runs.size() == 1;
  const auto add = [&](Series series, std::size_t color, bool dashed = false) {
    series.color = color;
    series.dashed = dashed;
    panel.series.push_back(std::move(series));
  };
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (single) add(raw_losses(runs[r]), r);
    Series smooth = of_batches(runs[r],
                               name_of(runs, r, single ? "training, smoothed" : "training"),
                               [](const BatchRecord& b) { return b.loss; });
    smooth.y = smoothed_losses(runs[r].batches);
    add(std::move(smooth), r);
    if (validated(runs[r]))
      add(of_epochs(runs[r],
                    name_of(runs, r, "validation"),
                    [](const EpochRecord& e) { return e.valid_loss; }),
          single ? 1 : r,
          !single);
  }
  return panel;
}

/// Returns the value of a metric, or NaN for an epoch without it, which leaves a gap in the line.
double metric_of(const EpochRecord& epoch, const std::string& name) {
  for (const auto& [known, value] : epoch.metrics)
    if (known == name) return value;
  return kGap;
}

bool is_share(const RunHistory& run, const std::string& name) {
  return std::ranges::none_of(run.epochs, [&](const EpochRecord& epoch) {
    const double value = metric_of(epoch, name);
    return value < 0 || value > 1;
  });
}

/// Collects the names over all runs, in order of appearance.
std::vector<std::string> metrics_of(std::span<const RunHistory> runs) {
  std::vector<std::string> names;
  for (const RunHistory& run : runs)
    if (!run.epochs.empty())
      for (const auto& [name, value] : run.epochs.back().metrics)
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

Panel metrics_panel(std::string title) {
  return {.title = std::move(title),
          .x_label = "epoch",
          .integer_x = true,
          .y_label = "value at the end of the epoch"};
}

void add_metrics(std::span<const RunHistory> runs, plot::Figure& figure) {
  const std::vector<std::string> names = metrics_of(runs);
  const auto series = [&](std::size_t run, const std::string& legend, const std::string& name) {
    return of_epochs(runs[run], legend, [&](const EpochRecord& e) { return metric_of(e, name); });
  };
  // For a single run, metrics that are shares have a panel together.
  Panel shares = metrics_panel("Metrics");
  for (const std::string& name : names) {
    if (runs.size() == 1 && is_share(runs[0], name)) {
      shares.series.push_back(series(0, name, name));
      continue;
    }
    figure.panels.push_back(metrics_panel(name));
    for (std::size_t r = 0; r < runs.size(); ++r) {
      figure.panels.back().series.push_back(
          series(r, runs.size() == 1 ? name : runs[r].name, name));
      figure.panels.back().series.back().color = r;
    }
  }
  if (!shares.series.empty())
    figure.panels.insert(figure.panels.begin() + 1, std::move(shares));  // after the losses
}

/// `quantity`: with its unit.
Panel batch_panel(std::span<const RunHistory> runs,
                  const char* title,
                  const std::string& quantity,
                  BatchValue value) {
  Panel panel{.title = title, .x_label = "epoch", .integer_x = true, .y_label = quantity};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    Series series = of_batches(runs[r], runs.size() == 1 ? quantity : runs[r].name, value);
    if (std::ranges::none_of(series.y, [](double y) { return std::isfinite(y); })) continue;
    series.color = r;
    panel.series.push_back(std::move(series));
  }
  return panel;
}

/// Draws a dot at each record with a skipped step, on the line of the loss scale.
Series skips(const RunHistory& run, std::string name) {
  Series series{.name = std::move(name), .markers = true};
  for (const BatchRecord& batch : run.batches) {
    if (batch.skipped == 0) continue;
    series.x.insert(series.x.end(), {batch.epoch, kGap});
    series.y.insert(series.y.end(), {static_cast<double>(batch.loss_scale), kGap});
  }
  return series;
}

/// Adds the panels for half precision and measured steps.
void add_step_panels(std::span<const RunHistory> runs, plot::Figure& figure) {
  const auto any = [&](FunctionRef<bool(const RunHistory&, const BatchRecord&)> is) {
    return std::ranges::any_of(runs, [&](const RunHistory& run) {
      return std::ranges::any_of(run.batches, [&](const BatchRecord& b) { return is(run, b); });
    });
  };
  const auto add = [&](const char* title, const char* quantity, BatchValue value) {
    figure.panels.push_back(batch_panel(runs, title, quantity, value));
    figure.panels.back().log_y = true;
  };
  if (any([](const RunHistory& run, const BatchRecord& b) {
        return b.loss_scale != run.batches.front().loss_scale || b.skipped > 0;
      })) {
    add("Loss scale", "factor of the loss", [](const BatchRecord& b) {
      return static_cast<double>(b.loss_scale);
    });
    for (std::size_t r = 0; r < runs.size(); ++r)
      if (Series series = skips(runs[r], name_of(runs, r, "skipped step")); !series.x.empty())
        figure.panels.back().series.push_back(std::move(series));
  }
  if (any([](const RunHistory&, const BatchRecord& b) { return std::isfinite(b.grad_norm); }))
    add("Gradient norm", "L2 norm before clipping", [](const BatchRecord& b) {
      return b.grad_norm;
    });
  if (any([](const RunHistory&, const BatchRecord& b) { return std::isfinite(b.update_ratio); }))
    add("Step size", "norm of the update / norm of the weights", [](const BatchRecord& b) {
      return b.update_ratio;
    });
}

}  // namespace

plot::Figure results_figure(const std::string& title, std::span<const RunHistory> runs) {
  plot::Figure figure{.title = title, .panels = {loss_panel(runs)}};
  add_metrics(runs, figure);
  return figure;
}

plot::Figure schedule_figure(const std::string& title, std::span<const RunHistory> runs) {
  plot::Figure figure{.title = title};
  figure.panels.push_back(
      batch_panel(runs, "Learning rate", "learning rate", [](const BatchRecord& b) {
        return static_cast<double>(b.lr);
      }));
  figure.panels.push_back(
      batch_panel(runs, "Momentum", "momentum or beta1", [](const BatchRecord& b) {
        return static_cast<double>(b.momentum);
      }));
  add_step_panels(runs, figure);
  return figure;
}

}  // namespace learn::callbacks
