#include "apps/learn/common/json_number.h"
#include "apps/learn/model/evaluation.h"
#include "apps/learn/model/score_table.h"
#include "framework/core/nan_sign.h"
#include "framework/drawing/plot.h"
#include "framework/evaluation/value_report.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr TextTable::Align kRight = TextTable::Align::right;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

ScoreTable::Row row_of(const std::string& name, const ValueErrors& errors) {
  return {name, {{}, {}, {errors.mae}, {errors.rmse}, {errors.r2}}};
}

ScoreTable table_of(const ValueReport& report, const std::vector<std::string>& names) {
  using Digits = ScoreTable::Digits;
  ScoreTable table{.what = "value",
                   .columns = {{"mean", "mean", Digits::number},
                               {"deviation", "deviation", Digits::number},
                               {"MAE", "mae", Digits::number},
                               {"RMSE", "rmse", Digits::number},
                               {"R2", "r2"}},
                   .rows = {},
                   .means = {row_of("mean", report.mean)}};
  table.means[0].text_name = "(mean of the values)";
  for (std::size_t c = 0; c < report.values.size(); ++c) {
    const ValueScores& scores = report.values[c];
    ScoreTable::Row& row = table.rows.emplace_back(row_of(names[c], scores.errors));
    row.scores[0].value = scores.mean;
    row.scores[1].value = scores.deviation;
  }
  return table;
}

/// The mean of one value is that value.
ScoreTable without_needless_mean(ScoreTable table) {
  if (table.rows.size() == 1) table.means.clear();
  return table;
}

/// Predictions against truths, each a dot, and the line on which they would be right.
plot::Panel scatter(const Evaluation& e, std::size_t value) {
  constexpr std::size_t kMost = 1000;  // dots; more are a blot
  plot::Series dots{.name = "an image", .x = {}, .y = {}, .markers = true};
  double least = std::numeric_limits<double>::infinity(), largest = -least;
  const std::size_t shown = std::min(e.size(), kMost);
  for (std::size_t k = 0; k < shown; ++k) {
    const std::size_t i = k * e.size() / shown;
    const double truth = double{e.data().targets_of(static_cast<std::int64_t>(i))[value]};
    least = std::min(least, truth);
    largest = std::max(largest, truth);
    dots.x.insert(dots.x.end(), {truth, kNaN});  // no line from dot to dot
    dots.y.insert(dots.y.end(), {e.outputs(i)[value], kNaN});
  }
  return {
      .title = e.data().classes[value],
      .x_label = "true",
      .series = {std::move(dots),
                 {.name = "right", .x = {least, largest}, .y = {least, largest}, .dashed = true}},
      .y_label = "predicted",
      .fixed_scale = true};
}

plot::Figure scatters(const Evaluation& e, const std::string& title) {
  constexpr std::size_t kMost = 12;
  plot::Figure figure{.title = title, .panels = {}};
  for (std::size_t c = 0; c < std::min(e.data().classes.size(), kMost); ++c)
    figure.panels.push_back(scatter(e, c));
  return figure;
}

/// Evaluation of images with real targets: errors of the predictions. Saves values.csv and
/// predictions.png.
class ValueEvaluation final : public Evaluation {
 public:
  ValueEvaluation(const data::Dataset& set, Predictions predictions)
      : Evaluation(set, std::move(predictions)),
        report_(value_report(this->predictions().preds.span<float>(),
                             static_cast<std::int64_t>(set.classes.size()),
                             set.targets)),
        scores_(table_of(report_, set.classes)) {}

  std::string table() const override { return to_text(without_needless_mean(scores_)); }

  std::string summary() const override {
    return fmt::format("MAE {}  RMSE {}  R2 {}",
                       six_digits(report_.mean.mae),
                       six_digits(report_.mean.rmse),
                       four_digits(report_.mean.r2));
  }

  std::string details(bool) const override { return ""; }

  Json summary_json() const override { return to_json(scores_, scores_.means[0]); }

  Json scores_json(bool) const override {
    Json values = Json::array();
    for (const ScoreTable::Row& row : scores_.rows) {
      Json value{{"value", row.name}};
      value.update(to_json(scores_, row));
      values.push_back(std::move(value));
    }
    return {{"values", std::move(values)}};
  }

  std::vector<TextTable::Column> top_columns() const override {
    std::vector<TextTable::Column> columns;
    for (const std::string& name : data().classes) {
      columns.push_back({name, kRight});
      columns.push_back({"predicted", kRight});
    }
    return columns;
  }

  std::vector<std::string> top_cells(std::size_t i) const override {
    std::vector<std::string> cells;
    const std::vector<double> said = outputs(i);
    for (std::size_t c = 0; c < said.size(); ++c) {
      cells.push_back(six_digits(double{truths(i)[c]}));
      cells.push_back(six_digits(said[c]));
    }
    return cells;
  }

  std::vector<std::string> prediction_columns() const override {
    std::vector<std::string> header{"file"};
    for (const std::string& name : data().classes) header.push_back("truth " + name);
    for (const std::string& name : data().classes) header.push_back("predicted " + name);
    header.emplace_back("loss");
    return header;
  }

  std::vector<Cell> prediction_cells(std::size_t i) const override {
    std::vector<Cell> cells{file(i)};
    for (const float truth : truths(i)) cells.emplace_back(truth);
    for (const double said : outputs(i)) cells.emplace_back(static_cast<float>(said));
    cells.emplace_back(loss(i));
    return cells;
  }

  Json prediction_json(std::size_t i) const override {
    Json truth = Json::object(), predicted = Json::object();
    for (std::size_t c = 0; c < data().classes.size(); ++c) {
      truth[data().classes[c]] = shortest(truths(i)[c]);
      predicted[data().classes[c]] = shortest(static_cast<float>(outputs(i)[c]));
    }
    return {{"file", file(i)},
            {"truth", truth},
            {"predicted", predicted},
            {"loss", shortest(static_cast<float>(loss(i)))}};
  }

  void save(const std::string&, const std::string& title, const fs::path& folder) const override {
    save_csv(scores_, folder / "values.csv");
    plot::save(folder / "predictions.png", scatters(*this, title));
  }

  std::vector<html::Block> blocks() const override {
    return {html::Facts{{{"MAE", six_digits(report_.mean.mae), "mean absolute error"},
                         {"RMSE", six_digits(report_.mean.rmse)},
                         {"R2", four_digits(report_.mean.r2), "1 is best"},
                         {"loss", six_digits(predictions().loss), "mean squared error"}}},
            html::Heading{"Values"},
            page_table(without_needless_mean(scores_), true),
            html::Heading{"Predictions and true values"},
            scatters(*this, "predictions")};
  }

 private:
  std::span<const float> truths(std::size_t i) const {
    return data().targets_of(static_cast<std::int64_t>(i));
  }

  ValueReport report_;
  ScoreTable scores_;
};

}  // namespace

std::unique_ptr<Evaluation> evaluation_of_values(const data::Dataset& data,
                                                 Predictions predictions) {
  return std::make_unique<ValueEvaluation>(data, std::move(predictions));
}

}  // namespace learn::cli
