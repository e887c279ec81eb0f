#include "apps/learn/common/json_number.h"
#include "apps/learn/common/named_probabilities.h"
#include "apps/learn/model/class_table.h"
#include "apps/learn/model/evaluation.h"
#include "framework/drawing/confusion_matrix_figure.h"
#include "framework/drawing/reliability_figure.h"
#include "framework/evaluation/calibration.h"
#include "framework/evaluation/confusion_matrix.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kPairs = 5;  // of classes, the most confused ones

Cell number(double value) { return value; }

plot::ConfusionFigure figure_of(const ConfusionMatrix& matrix,
                                const std::vector<std::string>& classes,
                                const std::string& title) {
  plot::ConfusionFigure figure{.title = title, .classes = classes, .counts = {}};
  for (int truth = 0; truth < matrix.classes(); ++truth) {
    figure.seen.push_back(matrix.seen(truth));
    for (int guess = 0; guess < matrix.classes(); ++guess)
      figure.counts.push_back(matrix.count(truth, guess));
  }
  return figure;
}

void write_confusion_csv(const ConfusionMatrix& matrix,
                         const std::vector<std::string>& classes,
                         const fs::path& path) {
  std::vector<std::string> header{"truth"};
  header.insert(header.end(), classes.begin(), classes.end());
  header.emplace_back("NaN");
  CsvWriter csv(path, header);
  std::vector<std::vector<Cell>> rows;
  for (int truth = 0; truth < matrix.classes(); ++truth) {
    std::vector<Cell>& cells = rows.emplace_back();
    cells.emplace_back(classes[static_cast<std::size_t>(truth)]);
    std::int64_t none = matrix.seen(truth);
    for (int guess = 0; guess < matrix.classes(); ++guess) {
      cells.push_back(number(static_cast<double>(matrix.count(truth, guess))));
      none -= matrix.count(truth, guess);
    }
    cells.push_back(number(static_cast<double>(none)));
  }
  csv.rows(rows);
}

void write_calibration_csv(const std::vector<CalibrationBin>& bins, const fs::path& path) {
  CsvWriter csv(path, {"above", "up_to", "images", "confidence", "correct"});
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const auto edge = [&](std::size_t at) {
      return number(static_cast<double>(at) / static_cast<double>(bins.size()));
    };
    const bool empty = bins[i].count == 0;
    rows.push_back({edge(i),
                    edge(i + 1),
                    number(static_cast<double>(bins[i].count)),
                    empty ? Cell() : number(bins[i].confidence),
                    empty ? Cell() : number(bins[i].correct)});
  }
  csv.rows(rows);
}

/// Share of right predictions against confidence.
plot::Figure reliability(const Calibration& calibration) {
  plot::Series measured{.name = "share that is correct", .x = {}, .y = {}, .markers = true};
  for (const CalibrationBin& bin : calibration.bins) {
    if (bin.count == 0) continue;
    measured.x.push_back(bin.confidence);
    measured.y.push_back(bin.correct);
  }
  return {.title = "calibration",
          .panels = {{.title = "Calibration",
                      .x_label = "confidence",
                      .series = {std::move(measured),
                                 {.name = "confidence equals accuracy",
                                  .x = {0, 1},
                                  .y = {0, 1},
                                  .dashed = true}},
                      .y_label = "share of correct predictions",
                      .fixed_scale = true}}};
}

/// Evaluation of images of one class each: confusion, scores of the classes, calibration. Saves
/// confusion.csv, classes.csv, calibration.csv, confusion.png and calibration.png.
class ClassEvaluation final : public Evaluation {
 public:
  ClassEvaluation(const data::Dataset& set, Predictions predictions)
      : Evaluation(set, std::move(predictions)) {
    const auto classes = static_cast<std::int64_t>(set.classes.size());
    confusion_.add(classes, set.labels, this->predictions().decoded.span<std::int64_t>());
    calibration_ = learn::calibration(this->predictions().preds.span<float>(), classes, set.labels);
  }

  std::string table() const override { return class_table(confusion_, data().classes); }

  std::string summary() const override {
    return fmt::format(
        "accuracy {:.4f}  ({} of {})", confusion_.accuracy(), right(), confusion_.samples());
  }

  std::string details(bool confusion) const override {
    const std::string pairs = confused_pairs(confusion_, data().classes, kPairs);
    return fmt::format("calibration: ECE {}, largest gap {}, Brier {}\n{}{}",
                       four_digits(calibration_.ece),
                       four_digits(calibration_.mce),
                       four_digits(calibration_.brier),
                       pairs.empty() ? "" : fmt::format("most confused: {}\n", pairs),
                       confusion ? "\n" + matrix_table(confusion_, data().classes) : "");
  }

  Json summary_json() const override {
    return {{"accuracy", finite_or_null(confusion_.accuracy())}, {"right", right()}};
  }

  Json scores_json(bool confusion) const override {
    const ScoreTable scores = class_scores(confusion_, data().classes);
    const std::vector<Confusion> pairs = confusion_.most_confused();
    Json classes = Json::array();
    for (int c = 0; c < confusion_.classes(); ++c) {
      const ScoreTable::Row& row = scores.rows[static_cast<std::size_t>(c)];
      const auto worst = std::ranges::find(pairs, c, &Confusion::truth);
      Json& entry = classes.emplace_back(
          Json{{"class", row.name}, {"images", 0}, {"predicted", confusion_.predicted(c)}});
      entry.update(to_json(scores, row));
      entry["taken_for"] = worst == pairs.end() ? Json() : Json(name_of(worst->guess));
    }
    const auto mean = [&](const ScoreTable::Row& row) {
      Json out = to_json(scores, row);
      out.erase("images");  // all of them
      return out;
    };
    Json confused = Json::array();
    for (const Confusion& pair : std::span(pairs).first(std::min(kPairs, pairs.size())))
      confused.push_back({{"class", name_of(pair.truth)},
                          {"taken_for", name_of(pair.guess)},
                          {"images", pair.count}});
    Json out{{"calibration",
              {{"ece", finite_or_null(calibration_.ece)},
               {"largest_gap", finite_or_null(calibration_.mce)},
               {"brier", finite_or_null(calibration_.brier)}}},
             {"classes", std::move(classes)},
             {"mean_of_classes", mean(scores.means[0])},
             {"mean_of_images", mean(scores.means[1])},
             {"most_confused", std::move(confused)}};
    if (!confusion) return out;
    Json& matrix = out["confusion"] = Json::array();
    for (int truth = 0; truth < confusion_.classes(); ++truth) {
      Json& row = matrix.emplace_back(Json::array());
      for (int guess = 0; guess < confusion_.classes(); ++guess)
        row.push_back(confusion_.count(truth, guess));
    }
    return out;
  }

  std::vector<TextTable::Column> top_columns() const override {
    return {{"is"},
            {"probability", TextTable::Align::right},
            {"taken for"},
            {"probability", TextTable::Align::right}};
  }

  std::vector<std::string> top_cells(std::size_t i) const override {
    const std::vector<double> probabilities = outputs(i);
    const auto probability = [&](std::int64_t c) {
      return c < 0 ? "" : four_digits(probabilities[static_cast<std::size_t>(c)]);
    };
    const std::int64_t truth = data().labels[i];
    return {name_of(truth), probability(truth), name_of(predicted(i)), probability(predicted(i))};
  }

  std::vector<std::string> prediction_columns() const override {
    std::vector<std::string> header{"file", "truth", "predicted", "loss"};
    add_probability_columns(header, data().classes);
    return header;
  }

  std::vector<Cell> prediction_cells(std::size_t i) const override {
    std::vector<Cell> cells{
        file(i), name_of(data().labels[i]), name_of(predicted(i)), number(loss(i))};
    for (const double p : outputs(i)) cells.push_back(number(p));
    return cells;
  }

  Json prediction_json(std::size_t i) const override {
    return {{"file", file(i)},
            {"truth", name_of(data().labels[i])},
            {"predicted", predicted(i) < 0 ? Json() : Json(name_of(predicted(i)))},
            {"loss", rounded(loss(i))},
            {"probabilities", probabilities_by_name(data().classes, outputs(i))}};
  }

  void save(const std::string& model,
            const std::string& title,
            const fs::path& folder) const override {
    write_confusion_csv(confusion_, data().classes, folder / "confusion.csv");
    save_csv(class_scores(confusion_, data().classes), folder / "classes.csv");
    write_calibration_csv(calibration_.bins, folder / "calibration.csv");
    plot::confusion_matrix_figure(figure_of(confusion_, data().classes, title))
        .save(folder / "confusion.png");
    plot::reliability_figure({.title = model, .bins = calibration_.bins})
        .save(folder / "calibration.png");
  }

  std::vector<html::Block> blocks() const override {
    constexpr std::size_t kPairsOfPage = 8;
    const std::string pairs = confused_pairs(confusion_, data().classes, kPairsOfPage);
    std::vector<html::Block> blocks{
        html::Facts{{{"accuracy", four_digits(confusion_.accuracy())},
                     {"loss", four_digits(predictions().loss)},
                     {"macro F1", four_digits(confusion_.mean(&ConfusionMatrix::f1))},
                     {"calibration error", four_digits(calibration_.ece), "ECE; 0 is best"},
                     {"Brier score", four_digits(calibration_.brier), "of 2; 0 is best"}}},
        html::Heading{"Confusion matrix"},
        figure_of(confusion_, data().classes, "the model")};
    if (!pairs.empty()) blocks.emplace_back(html::Note{"Most confused: " + pairs});
    blocks.insert(blocks.end(),
                  {html::Heading{"Classes"},
                   page_table(class_scores(confusion_, data().classes), false),
                   html::Heading{"Calibration of its probabilities"},
                   reliability(calibration_)});
    return blocks;
  }

 private:
  /// Predicted class of an image; -1: none, because an output is NaN.
  std::int64_t predicted(std::size_t i) const {
    return predictions().decoded.span<std::int64_t>()[i];
  }

  const std::string& name_of(std::int64_t of_class) const {
    static const std::string kNone = "NaN";
    return of_class < 0 ? kNone : data().classes[static_cast<std::size_t>(of_class)];
  }

  std::int64_t right() const {
    std::int64_t right = 0;
    for (int c = 0; c < confusion_.classes(); ++c) right += confusion_.count(c, c);
    return right;
  }

  ConfusionMatrix confusion_;
  Calibration calibration_;
};

}  // namespace

std::unique_ptr<Evaluation> evaluation_of_classes(const data::Dataset& data,
                                                  Predictions predictions) {
  return std::make_unique<ClassEvaluation>(data, std::move(predictions));
}

}  // namespace learn::cli
