#include "apps/learn/evaluation.h"

#include "data/loader.h"
#include "data/predictions_grid.h"
#include "framework/drawing/reliability_figure.h"
#include "framework/evaluation/class_report.h"
#include "framework/evaluation/probabilities.h"
#include "framework/evaluation/top_losses.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checkpoint.h"
#include "framework/io/csv.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

std::span<const float> row(const Tensor& values, std::size_t i) {
  const auto columns = static_cast<std::size_t>(values.shape()[-1]);
  return values.span<float>().subspan(i * columns, columns);
}

Cell number(double value) { return value; }

const std::string& name_of(const Evaluation& e, std::int64_t of_class) {
  static const std::string kNone = "NaN";
  return of_class < 0 ? kNone : e.data().classes[static_cast<std::size_t>(of_class)];
}

void write_predictions_csv(const Evaluation& e, const fs::path& path) {
  std::vector<std::string> header{"file", "truth", "predicted", "loss"};
  for (const std::string& name : e.data().classes) header.push_back("probability " + name);
  CsvWriter csv(path, header);
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < e.size(); ++i) {
    const JudgedSample one = e.sample(i);
    std::vector<Cell>& cells = rows.emplace_back();
    cells = {one.file, name_of(e, one.truth), name_of(e, one.predicted), number(one.loss)};
    for (const double p : one.probabilities) cells.push_back(number(p));
  }
  csv.rows(rows);
}

/// The digits that are known; JSON has no NaN.
nlohmann::ordered_json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::round(value * 1e7) / 1e7;
}

void write_predictions_json(const Evaluation& e, const fs::path& path) {
  using Json = nlohmann::ordered_json;
  AtomicFile file(path);
  for (std::size_t i = 0; i < e.size(); ++i) {
    const JudgedSample one = e.sample(i);
    Json probabilities = Json::object();
    for (std::size_t c = 0; c < one.probabilities.size(); ++c)
      probabilities[e.data().classes[c]] = rounded(one.probabilities[c]);
    const Json entry{{"file", one.file},
                     {"truth", name_of(e, one.truth)},
                     {"predicted", one.predicted < 0 ? Json() : Json(name_of(e, one.predicted))},
                     {"loss", rounded(one.loss)},
                     {"probabilities", probabilities}};
    // A file's name may be any bytes.
    file.write((i == 0 ? "[\n  " : ",\n  ") +
               entry.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  file.write("\n]\n");
  file.commit();
}

void write_confusion_csv(const Evaluation& e, const fs::path& path) {
  const ConfusionMatrix& matrix = e.confusion();
  std::vector<std::string> header{"truth"};
  header.insert(header.end(), e.data().classes.begin(), e.data().classes.end());
  header.emplace_back("NaN");
  CsvWriter csv(path, header);
  std::vector<std::vector<Cell>> rows;
  for (int truth = 0; truth < matrix.classes(); ++truth) {
    std::vector<Cell>& cells = rows.emplace_back();
    cells.emplace_back(name_of(e, truth));
    std::int64_t none = matrix.seen(truth);
    for (int guess = 0; guess < matrix.classes(); ++guess) {
      cells.push_back(number(static_cast<double>(matrix.count(truth, guess))));
      none -= matrix.count(truth, guess);
    }
    cells.push_back(number(static_cast<double>(none)));
  }
  csv.rows(rows);
}

void write_classes_csv(const Evaluation& e, const fs::path& path) {
  const ClassReport report = class_report(e.confusion());
  CsvWriter csv(path, {"class", "images", "precision", "recall", "f1"});
  std::vector<std::vector<Cell>> rows;
  const auto add = [&](const std::string& name, const ClassScores& s) {
    rows.push_back({name,
                    number(static_cast<double>(s.support)),
                    number(s.precision),
                    number(s.recall),
                    number(s.f1)});
  };
  for (std::size_t c = 0; c < report.classes.size(); ++c)
    add(e.data().classes[c], report.classes[c]);
  add("macro mean", report.macro);
  add("weighted mean", report.weighted);
  csv.rows(rows);
}

void write_calibration_csv(const Evaluation& e, const fs::path& path) {
  const std::vector<CalibrationBin>& bins = e.calibration().bins;
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

}  // namespace

Evaluation::Evaluation(const data::Dataset& data, Predictions predictions)
    : data_(data), predictions_(std::move(predictions)) {
  confusion_.add(static_cast<std::int64_t>(data.classes.size()),
                 data.labels,
                 predictions_.decoded.span<std::int64_t>());
  calibration_ = learn::calibration(predictions_.preds.span<float>(),
                                    static_cast<std::int64_t>(data.classes.size()),
                                    data.labels);
}

JudgedSample Evaluation::sample(std::size_t i) const {
  return {.file = data_.files.empty() ? fmt::format("{}", i) : data_.files[i],
          .truth = data_.labels[i],
          .predicted = predictions_.decoded.span<std::int64_t>()[i],
          .probabilities = softmax(row(predictions_.preds, i)),
          .loss = double{predictions_.losses.span<float>()[i]}};
}

std::vector<std::size_t> Evaluation::top_losses(std::int64_t count) const {
  return learn::top_losses(predictions_.losses.span<float>(), static_cast<std::size_t>(count));
}

Evaluation evaluate(Context& ctx,
                    const fs::path& weights,
                    const SavedModel& model,
                    const data::Dataset& data,
                    const Batches& batches) {
  model.require_classes("an evaluation");
  if (data.classes != model.classes || data.target_kind != model.target_kind)
    fail<DataError>("'{}' has other classes than the model was trained on", data.name);
  data::Loader loader(ctx,
                      data,
                      {.batch_size = batches.size,
                       .workers = static_cast<int>(batches.workers),
                       .normalization = model.normalization});
  Learner learn(ctx, model.make(), loader, {.report = Report::off});
  load_weights(weights, learn.params());
  return {data, learn.get_preds(loader, {.with_losses = true, .with_decoded = true})};
}

plot::ConfusionFigure confusion_figure(const Evaluation& e, const std::string& title) {
  const ConfusionMatrix& matrix = e.confusion();
  plot::ConfusionFigure figure{.title = title, .classes = e.data().classes, .counts = {}};
  for (int truth = 0; truth < matrix.classes(); ++truth) {
    figure.seen.push_back(matrix.seen(truth));
    for (int guess = 0; guess < matrix.classes(); ++guess)
      figure.counts.push_back(matrix.count(truth, guess));
  }
  return figure;
}

plot::ImageGrid top_losses_grid(const Evaluation& e, std::int64_t count, const std::string& title) {
  std::vector<data::JudgedImage> judged;
  for (const std::size_t i : e.top_losses(count)) {
    const JudgedSample one = e.sample(i);
    data::JudgedImage& image = judged.emplace_back();
    image.index = static_cast<std::int64_t>(i);
    image.predicted = static_cast<int>(one.predicted);
    if (one.predicted >= 0)
      image.probability = one.probabilities[static_cast<std::size_t>(one.predicted)];
    image.truth_probability = one.probabilities[static_cast<std::size_t>(one.truth)];
    image.loss = one.loss;
  }
  return data::top_losses_grid(e.data(), judged, judged.size(), title);
}

void check_predictions_name(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  if (ending != ".csv" && ending != ".json")
    fail<UsageError>("--predictions {}: a name that ends in .csv or .json says the format", path);
}

void write_predictions(const Evaluation& evaluation, const fs::path& path) {
  check_predictions_name(path.string());
  if (path.extension() == ".csv")
    write_predictions_csv(evaluation, path);
  else
    write_predictions_json(evaluation, path);
}

void save_evaluation(const Evaluation& evaluation,
                     std::int64_t top_losses,
                     const std::string& model,
                     const std::string& title,
                     const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail<IoError>("cannot create '{}': {}", folder.string(), error.message());
  write_confusion_csv(evaluation, folder / "confusion.csv");
  write_classes_csv(evaluation, folder / "classes.csv");
  write_calibration_csv(evaluation, folder / "calibration.csv");
  plot::confusion_matrix_figure(confusion_figure(evaluation, title)).save(folder / "confusion.png");
  plot::reliability_figure({.title = model, .bins = evaluation.calibration().bins})
      .save(folder / "calibration.png");
  plot::image_grid(top_losses_grid(evaluation, top_losses, "largest losses of " + model))
      .save(folder / "top-losses.png");
}

}  // namespace learn::cli
