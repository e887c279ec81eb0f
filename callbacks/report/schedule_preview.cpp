#include "callbacks/report/schedule_preview.h"

#include "framework/learner/learner.h"
#include "framework/terminal/text_table.h"

#include <algorithm>
#include <set>

namespace learn::callbacks {
namespace {

/// A plot is about this many points wide.
constexpr std::int64_t kMaxPoints = 1024;

/// Returns the batches of a table of at most `rows`: those at the start of epochs, or of equal
/// parts of them, and the last one.
std::set<std::int64_t> table_batches(std::int64_t epochs,
                                     std::int64_t batches_per_epoch,
                                     std::int64_t rows) {
  std::int64_t parts = 1;
  for (const std::int64_t wanted : {2, 4, 5, 10, 20})
    if (wanted * epochs < rows && wanted <= batches_per_epoch) parts = wanted;
  const std::int64_t every = (parts * epochs + rows - 2) / (rows - 1);
  std::set<std::int64_t> batches;
  for (std::int64_t i = 0; i < parts * epochs; i += every)
    batches.insert(i * batches_per_epoch / parts);
  batches.insert(epochs * batches_per_epoch - 1);
  return batches;
}

std::vector<std::int64_t> points_of(std::int64_t epochs, std::int64_t batches_per_epoch) {
  const std::int64_t batches = epochs * batches_per_epoch;
  const std::int64_t count = std::min(batches, kMaxPoints);
  std::set<std::int64_t> points = table_batches(epochs, batches_per_epoch, SchedulePreview::kRows);
  for (std::int64_t i = 0; i < count; ++i)
    points.insert(count == 1 ? 0 : i * (batches - 1) / (count - 1));
  return {points.begin(), points.end()};
}

std::vector<const ParamScheduler*> schedulers_of(const Learner& learn) {
  std::vector<const ParamScheduler*> found;
  for (const Callback* const callback : learn.callbacks().listeners(Event::batch_begin))
    if (const auto* const scheduler = dynamic_cast<const ParamScheduler*>(callback))
      found.push_back(scheduler);
  return found;
}

/// Returns the hyper-parameters at the start of the fit.
std::vector<GroupHypers> first_hypers(const Learner& learn) {
  const optim::Optimizer& optimizer = learn.optimizer();
  std::vector<GroupHypers> hypers = optimizer.all_hypers();
  const std::vector<float> rates = learn.options().lr.spread(learn.params().layer_groups());
  for (std::size_t g = 0; g < hypers.size(); ++g) hypers[g].lr = rates[g / 2];
  return hypers;
}

/// Returns the value for the group's weights; biases and norms differ only in decay.
double value_in(const std::vector<GroupHypers>& hypers, Hyper hyper, int layer_group) {
  const auto weights = static_cast<std::size_t>(nn::index_of({layer_group, true}));
  return static_cast<double>(value_of(hypers[weights], hyper));
}

std::string title_of(Hyper hyper) {
  switch (hyper) {
    case Hyper::lr:
      return "Learning rate";
    case Hyper::momentum:
      return "Momentum";
    case Hyper::weight_decay:
      return "Weight decay";
    default:
      return std::string(name_of(hyper));
  }
}

std::string quantity_of(Hyper hyper) {
  switch (hyper) {
    case Hyper::lr:
      return "learning rate";
    case Hyper::momentum:
      return "momentum or beta1";
    case Hyper::weight_decay:
      return "weight decay";
    default:
      return std::string(name_of(hyper));
  }
}

std::string of_group(const std::string& quantity, int layer_group) {
  return layer_group < 0 ? quantity : fmt::format("{}, group {}", quantity, layer_group + 1);
}

/// Merges layer groups with equal values into one line.
void merge_groups(std::vector<SchedulePreview::Line>& lines) {
  const bool alike = std::ranges::all_of(
      lines, [&](const SchedulePreview::Line& line) { return line.values == lines[0].values; });
  if (!alike) return;
  lines.resize(1);
  lines[0].layer_group = -1;
}

}  // namespace

plot::Figure SchedulePreview::figure(const std::string& title) const {
  plot::Figure figure{.title = title};
  std::vector<Hyper> shown;
  for (const Line& line : lines) {
    if (shown.empty() || shown.back() != line.hyper) {
      shown.push_back(line.hyper);
      figure.panels.push_back({.title = title_of(line.hyper),
                               .x_label = "epoch",
                               .integer_x = true,
                               .y_label = quantity_of(line.hyper)});
    }
    plot::Series series{.name = of_group(quantity_of(line.hyper), line.layer_group)};
    for (std::size_t i = 0; i < batches.size(); ++i) {
      series.x.push_back(static_cast<double>(batches[i]) / static_cast<double>(batches_per_epoch));
      series.y.push_back(line.values[i]);
    }
    // The axis ends at the end of the epoch, not at the last batch.
    series.x.push_back(static_cast<double>(epochs));
    series.y.push_back(line.values.back());
    figure.panels.back().series.push_back(std::move(series));
  }
  return figure;
}

std::string SchedulePreview::to_string(std::int64_t rows) const {
  std::vector<TextTable::Column> columns{{"epoch", TextTable::Align::right},
                                         {"batch", TextTable::Align::right}};
  for (const Line& line : lines)
    columns.push_back(
        {of_group(std::string(name_of(line.hyper)), line.layer_group), TextTable::Align::right});
  TextTable table(columns);
  std::set<std::size_t> chosen;
  for (const std::int64_t batch :
       table_batches(epochs, batches_per_epoch, std::max<std::int64_t>(rows, 2)))
    chosen.insert(
        static_cast<std::size_t>(std::ranges::lower_bound(batches, batch) - batches.begin()));
  for (const std::size_t at : chosen) {
    std::vector<std::string> cells{
        fmt::format("{:.2f}",
                    static_cast<double>(batches[at]) / static_cast<double>(batches_per_epoch)),
        grouped(batches[at] + 1)};
    for (const Line& line : lines) cells.push_back(fmt::format("{:.4g}", line.values[at]));
    table.row(std::move(cells));
  }
  std::string text = fmt::format("{} epochs of {} batches\n", epochs, grouped(batches_per_epoch));
  for (const Line& line : lines) {
    if (!line.scheduled) continue;
    text += fmt::format("{}: from {:.4g} to {:.4g}",
                        of_group(quantity_of(line.hyper), line.layer_group),
                        line.values.front(),
                        line.values.back());
    const auto [lowest, highest] = std::ranges::minmax_element(line.values);
    const auto add = [&](const char* what, std::vector<double>::const_iterator at) {
      if (*at == line.values.front() || *at == line.values.back()) return;
      const std::int64_t batch = batches[static_cast<std::size_t>(at - line.values.begin())];
      text += fmt::format(", {} {:.4g} in epoch {:.2f}",
                          what,
                          *at,
                          static_cast<double>(batch) / static_cast<double>(batches_per_epoch));
    };
    add("highest", highest);
    add("lowest", lowest);
    text += "\n";
  }
  return text + table.to_string();
}

SchedulePreview preview_schedule(const Learner& learn, std::int64_t epochs) {
  check<UsageError>(epochs >= 1, "a schedule needs at least one epoch, not {}", epochs);
  SchedulePreview preview{.epochs = epochs, .batches_per_epoch = learn.train_source().batches()};
  const std::int64_t planned = epochs * preview.batches_per_epoch;
  preview.batches = points_of(epochs, preview.batches_per_epoch);
  const std::vector<const ParamScheduler*> schedulers = schedulers_of(learn);
  const std::vector<GroupHypers> before = first_hypers(learn);
  std::vector<std::vector<GroupHypers>> at;
  for (const std::int64_t batch : preview.batches) {
    at.push_back(before);
    for (const ParamScheduler* const scheduler : schedulers)
      scheduler->set(at.back(),
                     before,
                     learn.optimizer().options().decay_bn_bias,
                     static_cast<double>(batch) / static_cast<double>(planned));
  }
  for (const auto& known : hypers_by_name()) {
    const Hyper hyper = known.second;
    const bool scheduled = std::ranges::any_of(schedulers, [&](const ParamScheduler* one) {
      return std::ranges::any_of(one->scheduled(),
                                 [&](const ScheduledHyper& s) { return s.hyper == hyper; });
    });
    const bool usual =
        hyper == Hyper::lr || hyper == Hyper::momentum || hyper == Hyper::weight_decay;
    if (!usual && !scheduled) continue;
    std::vector<SchedulePreview::Line> lines;
    for (int group = 0; group < learn.params().layer_groups(); ++group) {
      lines.push_back({.hyper = hyper, .layer_group = group, .scheduled = scheduled});
      for (const std::vector<GroupHypers>& hypers : at)
        lines.back().values.push_back(value_in(hypers, hyper, group));
    }
    merge_groups(lines);
    preview.lines.insert(preview.lines.end(), lines.begin(), lines.end());
  }
  return preview;
}

}  // namespace learn::callbacks
