#include "apps/learn/common/json_number.h"
#include "apps/learn/common/named_probabilities.h"
#include "apps/learn/model/evaluation.h"
#include "apps/learn/model/score_table.h"
#include "framework/core/format.h"
#include "framework/drawing/color.h"
#include "framework/drawing/plot.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

ScoreTable::Row row_of(const std::string& name, const LabelScores& s) {
  const auto images = static_cast<double>(s.positives),
             predicted = static_cast<double>(s.predicted);
  return {name,
          {{images},
           {predicted},
           {s.precision, s.predicted == 0},
           {s.recall, s.positives == 0},
           {s.f1, s.positives + s.predicted == 0},
           {s.average_precision, s.positives == 0}}};
}

ScoreTable table_of(const LabelReport& report, const std::vector<std::string>& labels) {
  using Digits = ScoreTable::Digits;
  ScoreTable table{.what = "label",
                   .columns = {{"images", "images", Digits::count},
                               {"predicted", "predicted", Digits::count},
                               {"precision", "precision"},
                               {"recall", "recall"},
                               {"F1", "f1"},
                               {"average precision", "average_precision"}},
                   .rows = {},
                   .means = {row_of("mean", report.macro)}};
  table.means[0].text_name = "(mean of the labels)";
  for (std::size_t c = 0; c < report.labels.size(); ++c)
    table.rows.push_back(row_of(labels[c], report.labels[c]));
  return table;
}

/// One label of all images.
std::vector<PrecisionRecall> curve_of(const Evaluation& e, std::size_t label) {
  const std::size_t labels = e.data().classes.size();
  std::vector<double> scores;
  std::vector<bool> positive;
  for (std::size_t i = 0; i < e.size(); ++i) {
    scores.push_back(double{e.predictions().preds.span<float>()[i * labels + label]});
    positive.push_back(has_label(e.data().targets[i * labels + label]));
  }
  return precision_recall(scores, positive);
}

/// Draws the labels with the lowest scores, as many as there are colours.
plot::Figure curves(const Evaluation& e, const LabelReport& report, const std::string& title) {
  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < report.labels.size(); ++c)
    if (!curve_of(e, c).empty()) order.push_back(c);
  const bool all = order.size() <= plot::kPaletteColors;
  if (!all) {
    std::ranges::stable_sort(
        order, {}, [&](std::size_t c) { return report.labels[c].average_precision; });
    order.resize(plot::kPaletteColors);
  }
  plot::Panel panel{.title = all ? "Precision and recall" : "Precision and recall of the worst",
                    .x_label = "recall",
                    .series = {},
                    .y_label = "precision",
                    .fixed_scale = true};
  for (const std::size_t c : order) {
    plot::Series series{.name = e.data().classes[c], .x = {}, .y = {}};
    for (const PrecisionRecall& at : curve_of(e, c)) {
      series.x.push_back(at.recall);
      series.y.push_back(at.precision);
    }
    panel.series.push_back(std::move(series));
  }
  return {.title = title, .panels = {std::move(panel)}};
}

/// Joins labels in the form that `labels.csv:label_delim=;` reads.
std::string in_a_cell(const std::vector<std::string>& labels) { return join(labels, kLabelDelim); }

/// Evaluation of images of several labels each: scores of the labels and the share of correct
/// decisions. Saves labels.csv and precision-recall.png.
class LabelEvaluation final : public Evaluation {
 public:
  LabelEvaluation(const data::Dataset& set, Predictions predictions, double threshold)
      : Evaluation(set, std::move(predictions)),
        threshold_(threshold),
        report_(label_report(this->predictions().preds.span<float>(),
                             static_cast<std::int64_t>(set.classes.size()),
                             set.targets,
                             threshold)),
        scores_(table_of(report_, set.classes)) {}

  std::string table() const override { return to_text(scores_); }

  std::string summary() const override {
    return fmt::format("accuracy_multi {}  ({} of {} decisions)",
                       four_digits(report_.accuracy),
                       report_.right,
                       report_.decisions);
  }

  std::string details(bool) const override {
    return fmt::format("all labels correct: {} of {} images, at a threshold of {}\n",
                       all_right(),
                       size(),
                       threshold_);
  }

  Json summary_json() const override {
    return {{"accuracy_multi", finite_or_null(report_.accuracy)},
            {"right", report_.right},
            {"decisions", report_.decisions}};
  }

  Json scores_json(bool) const override {
    Json labels = Json::array();
    for (const ScoreTable::Row& row : scores_.rows) {
      Json label{{"label", row.name}};
      label.update(to_json(scores_, row));
      labels.push_back(std::move(label));
    }
    return {{"threshold", threshold_},
            {"all_labels_right", all_right()},
            {"labels", std::move(labels)},
            {"mean_of_labels", to_json(scores_, scores_.means[0])}};
  }

  std::vector<TextTable::Column> top_columns() const override { return {{"is"}, {"taken for"}}; }

  std::vector<std::string> top_cells(std::size_t i) const override {
    const std::vector<double> probabilities = outputs(i);
    std::vector<std::string> is, taken_for;
    for (std::size_t c = 0; c < probabilities.size(); ++c) {
      const std::string text =
          fmt::format("{} {}", data().classes[c], four_digits(probabilities[c]));
      if (has_label(data().targets_of(static_cast<std::int64_t>(i))[c])) is.push_back(text);
      if (probabilities[c] > threshold_) taken_for.push_back(text);
    }
    return {join(is), join(taken_for)};
  }

  std::vector<std::string> prediction_columns() const override {
    std::vector<std::string> header{"file", "truth", "predicted", "loss"};
    add_probability_columns(header, data().classes);
    return header;
  }

  std::vector<Cell> prediction_cells(std::size_t i) const override {
    std::vector<Cell> cells{file(i),
                            in_a_cell(data::labels_of(data(), static_cast<std::int64_t>(i))),
                            in_a_cell(predicted(i)),
                            loss(i)};
    for (const double p : outputs(i)) cells.emplace_back(p);
    return cells;
  }

  Json prediction_json(std::size_t i) const override {
    return {{"file", file(i)},
            {"truth", data::labels_of(data(), static_cast<std::int64_t>(i))},
            {"predicted", predicted(i)},
            {"loss", rounded(loss(i))},
            {"probabilities", probabilities_by_name(data().classes, outputs(i))}};
  }

  void save(const std::string&, const std::string& title, const fs::path& folder) const override {
    save_csv(scores_, folder / "labels.csv");
    plot::save(folder / "precision-recall.png", curves(*this, report_, title));
  }

  std::vector<html::Block> blocks() const override {
    const std::string images = fmt::format("{} of {}", all_right(), size());
    return {html::Facts{{{"accuracy_multi", four_digits(report_.accuracy), "of decisions"},
                         {"loss", four_digits(predictions().loss)},
                         {"macro F1", four_digits(report_.macro.f1)},
                         {"mean average precision", four_digits(report_.macro.average_precision)},
                         {"all labels correct", images, "images"}}},
            html::Heading{"Labels"},
            page_table(scores_, true),
            html::Heading{"Precision and recall by threshold"},
            curves(*this, report_, "precision and recall")};
  }

  double threshold() const override { return threshold_; }

 private:
  /// Labels whose probability is above the threshold.
  std::vector<std::string> predicted(std::size_t i) const {
    std::vector<std::string> names;
    const std::vector<double> probabilities = outputs(i);
    for (std::size_t c = 0; c < probabilities.size(); ++c)
      if (probabilities[c] > threshold_) names.push_back(data().classes[c]);
    return names;
  }

  /// Images of which every label is right.
  std::int64_t all_right() const {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      const std::vector<double> probabilities = outputs(i);
      const auto targets = data().targets_of(static_cast<std::int64_t>(i));
      count += std::equal(
          probabilities.begin(), probabilities.end(), targets.begin(), [&](double p, float target) {
            return !std::isnan(p) && (p > threshold_) == has_label(target);
          });
    }
    return count;
  }

  double threshold_;
  LabelReport report_;
  ScoreTable scores_;
};

}  // namespace

std::unique_ptr<Evaluation> evaluation_of_labels(const data::Dataset& data,
                                                 Predictions predictions,
                                                 double threshold) {
  return std::make_unique<LabelEvaluation>(data, std::move(predictions), threshold);
}

}  // namespace learn::cli
