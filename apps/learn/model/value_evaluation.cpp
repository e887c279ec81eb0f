#include "apps/learn/model/value_evaluation.h"

#include "apps/learn/common/json_number.h"
#include "framework/core/nan_sign.h"
#include "framework/drawing/plot.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr TextTable::Align kRight = TextTable::Align::right;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// In the targets' unit.
std::string number(double value) { return fmt::format("{:.6g}", without_nan_sign(value)); }

std::vector<std::string> row_of(const std::string& name, const ValueScores& s) {
  return {name,
          number(s.mean),
          number(s.deviation),
          number(s.errors.mae),
          number(s.errors.rmse),
          four_digits(s.errors.r2)};
}

std::vector<std::string> mean_row(const std::string& name, const ValueErrors& mean) {
  return {name, "", "", number(mean.mae), number(mean.rmse), four_digits(mean.r2)};
}

Json json_of(const ValueErrors& errors) {
  return {{"mae", finite_or_null(errors.mae)},
          {"rmse", finite_or_null(errors.rmse)},
          {"r2", finite_or_null(errors.r2)}};
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

}  // namespace

ValueEvaluation::ValueEvaluation(const data::Dataset& set, Predictions predictions)
    : Evaluation(set, std::move(predictions)),
      report_(value_report(this->predictions().preds.span<float>(),
                           static_cast<std::int64_t>(set.classes.size()),
                           set.targets)) {}

std::string ValueEvaluation::table() const {
  TextTable table({{"value"},
                   {"mean", kRight},
                   {"deviation", kRight},
                   {"MAE", kRight},
                   {"RMSE", kRight},
                   {"R2", kRight}});
  for (std::size_t c = 0; c < report_.values.size(); ++c)
    table.row(row_of(data().classes[c], report_.values[c]));
  if (report_.values.size() > 1) table.row(mean_row("(mean of the values)", report_.mean));
  return table.to_string();
}

std::string ValueEvaluation::summary() const {
  return fmt::format("MAE {}  RMSE {}  R2 {}",
                     number(report_.mean.mae),
                     number(report_.mean.rmse),
                     four_digits(report_.mean.r2));
}

std::string ValueEvaluation::details(bool) const { return ""; }

nlohmann::ordered_json ValueEvaluation::summary_json() const { return json_of(report_.mean); }

nlohmann::ordered_json ValueEvaluation::scores_json(bool) const {
  Json values = Json::array();
  for (std::size_t c = 0; c < report_.values.size(); ++c) {
    const ValueScores& scores = report_.values[c];
    Json value{{"value", data().classes[c]},
               {"mean", finite_or_null(scores.mean)},
               {"deviation", finite_or_null(scores.deviation)}};
    value.update(json_of(scores.errors));
    values.push_back(std::move(value));
  }
  return {{"values", std::move(values)}};
}

std::vector<TextTable::Column> ValueEvaluation::top_columns() const {
  std::vector<TextTable::Column> columns;
  for (const std::string& name : data().classes) {
    columns.push_back({name, kRight});
    columns.push_back({"predicted", kRight});
  }
  return columns;
}

std::vector<std::string> ValueEvaluation::top_cells(std::size_t i) const {
  std::vector<std::string> cells;
  const std::vector<double> said = outputs(i);
  for (std::size_t c = 0; c < said.size(); ++c) {
    cells.push_back(number(double{truths(i)[c]}));
    cells.push_back(number(said[c]));
  }
  return cells;
}

std::vector<std::string> ValueEvaluation::prediction_columns() const {
  std::vector<std::string> header{"file"};
  for (const std::string& name : data().classes) header.push_back("truth " + name);
  for (const std::string& name : data().classes) header.push_back("predicted " + name);
  header.emplace_back("loss");
  return header;
}

std::vector<Cell> ValueEvaluation::prediction_cells(std::size_t i) const {
  std::vector<Cell> cells{file(i)};
  for (const float truth : truths(i)) cells.emplace_back(truth);
  for (const double said : outputs(i)) cells.emplace_back(static_cast<float>(said));
  cells.emplace_back(loss(i));
  return cells;
}

nlohmann::ordered_json ValueEvaluation::prediction_json(std::size_t i) const {
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

void ValueEvaluation::save(const std::string&,
                           const std::string& title,
                           const fs::path& folder) const {
  CsvWriter csv(folder / "values.csv", {"value", "mean", "deviation", "mae", "rmse", "r2"});
  std::vector<std::vector<Cell>> rows;
  for (std::size_t c = 0; c < report_.values.size(); ++c) {
    const ValueScores& s = report_.values[c];
    rows.push_back(
        {data().classes[c], s.mean, s.deviation, s.errors.mae, s.errors.rmse, s.errors.r2});
  }
  const ValueErrors& mean = report_.mean;
  rows.push_back({"mean", Cell(), Cell(), mean.mae, mean.rmse, mean.r2});
  csv.rows(rows);
  plot::save(folder / "predictions.png", scatters(*this, title));
}

std::vector<html::Block> ValueEvaluation::blocks() const {
  html::Table table{.columns = {{"value"},
                                {"mean", true},
                                {"deviation", true},
                                {"MAE", true},
                                {"RMSE", true},
                                {"R2", true}},
                    .rows = {}};
  for (std::size_t c = 0; c < report_.values.size(); ++c)
    table.rows.push_back({row_of(data().classes[c], report_.values[c])});
  if (report_.values.size() > 1) table.rows.push_back({mean_row("mean", report_.mean)});
  return {html::Facts{{{"MAE", number(report_.mean.mae), "mean absolute error"},
                       {"RMSE", number(report_.mean.rmse)},
                       {"R2", four_digits(report_.mean.r2), "1 is best"},
                       {"loss", number(predictions().loss), "mean squared error"}}},
          html::Heading{"Values"},
          std::move(table),
          html::Heading{"Predictions against truths"},
          scatters(*this, "predictions")};
}

}  // namespace learn::cli
