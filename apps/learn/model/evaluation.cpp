#include "apps/learn/model/evaluation.h"

#include "callbacks/test_time_augmentation.h"
#include "data/loading/loader.h"
#include "data/show/predictions_grid.h"
#include "framework/core/nan_sign.h"
#include "framework/evaluation/confusion_matrix.h"
#include "framework/evaluation/probabilities.h"
#include "framework/evaluation/top_losses.h"
#include "framework/inference/load_model.h"
#include "framework/io/atomic_file.h"
#include "framework/io/json_text.h"
#include "framework/tensor/host_tensor.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

std::span<const float> row(const Tensor& values, std::size_t i) {
  const auto columns = static_cast<std::size_t>(values.shape()[-1]);
  return values.span<float>().subspan(i * columns, columns);
}

/// The measured loss, whichever one the training minimized.
nn::Loss measured_loss(TargetKind kind) {
  if (kind == TargetKind::labels) return nn::bce_with_logits();
  return kind == TargetKind::values ? nn::mse() : nn::cross_entropy();
}

void check_targets(const SavedModel& model, const data::Dataset& data) {
  if (data.target_kind != model.target_kind)
    fail<DataError>("the targets of '{}' are {}, the model was trained on {}",
                    data.name,
                    to_text(data.target_kind),
                    to_text(model.target_kind));
  if (data.classes != model.classes)
    fail<DataError>("'{}' has different {} from those that the model was trained on: {}",
                    data.name,
                    data.target_kind == TargetKind::values ? "values" : "classes",
                    join(model.classes));
}

void write_predictions_csv(const Evaluation& e, const fs::path& path) {
  CsvWriter csv(path, e.prediction_columns());
  std::vector<std::vector<Cell>> rows;
  for (std::size_t i = 0; i < e.size(); ++i) rows.push_back(e.prediction_cells(i));
  csv.rows(rows);
}

void write_predictions_json(const Evaluation& e, const fs::path& path) {
  AtomicFile file(path);
  for (std::size_t i = 0; i < e.size(); ++i)
    file.write((i == 0 ? "[\n  " : ",\n  ") + json_text(e.prediction_json(i)));
  file.write("\n]\n");
  file.commit();
}

std::unique_ptr<Evaluation> judged(const data::Dataset& data,
                                   Predictions predictions,
                                   double threshold) {
  if (data.target_kind == TargetKind::labels)
    return evaluation_of_labels(data, std::move(predictions), threshold);
  if (data.target_kind == TargetKind::values)
    return evaluation_of_values(data, std::move(predictions));
  return evaluation_of_classes(data, std::move(predictions));
}

}  // namespace

Evaluation::Evaluation(const data::Dataset& data, Predictions predictions)
    : data_(data), predictions_(std::move(predictions)) {}

std::string Evaluation::file(std::size_t i) const {
  return data_.files.empty() ? fmt::format("{}", i) : data_.files[i];
}

double Evaluation::loss(std::size_t i) const {
  return double{predictions_.losses.span<float>()[i]};
}

std::vector<double> Evaluation::outputs(std::size_t i) const {
  return interpret(data_.target_kind, row(predictions_.preds, i));
}

std::int64_t Evaluation::undecided() const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < size(); ++i)
    count += std::ranges::any_of(row(predictions_.preds, i), [](float v) { return std::isnan(v); });
  return count;
}

std::vector<std::size_t> Evaluation::top_losses(std::int64_t count) const {
  return learn::top_losses(predictions_.losses.span<float>(), static_cast<std::size_t>(count));
}

Evaluations evaluate(Context& ctx,
                     const fs::path& weights,
                     const SavedModel& model,
                     const data::Dataset& data,
                     const Measuring& measuring) {
  check_targets(model, data);
  if (measuring.views && !data.form().is_image())
    fail<UsageError>("--tta is for images: the samples of '{}' have no mirror image", data.name);
  data::Loader loader(ctx,
                      data,
                      {.batch_size = measuring.batch_size,
                       .workers = static_cast<int>(measuring.workers),
                       .normalization = model.normalization});
  Learner learn(ctx,
                load_model(SafetensorsFile(weights), model, ctx),
                loader,
                {.loss = measured_loss(data.target_kind), .report = Report::off});
  const auto measured = [&] {
    Predictions predictions = learn.get_preds(
        loader, {.with_losses = true, .with_decoded = data.target_kind == TargetKind::classes});
    return judged(data, std::move(predictions), measuring.threshold);
  };
  std::unique_ptr<Evaluation> plain = measured();
  if (!measuring.views) return {std::move(plain), nullptr};
  learn.add<callbacks::TestTimeAugmentation>(*measuring.views, data.target_kind);
  return {measured(), std::move(plain)};
}

std::string_view loss_name(TargetKind kind) {
  if (kind == TargetKind::labels) return "binary cross-entropy";
  return kind == TargetKind::values ? "mean squared error" : "cross-entropy";
}

plot::ImageGrid top_losses_grid(const Evaluation& e, std::int64_t count, const std::string& title) {
  std::vector<data::JudgedImage> judged;
  for (const std::size_t i : e.top_losses(count))
    judged.push_back({static_cast<std::int64_t>(i), e.outputs(i), e.loss(i)});
  return data::top_losses_grid(e.data(), judged, judged.size(), title, e.threshold());
}

void check_predictions_name(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  if (ending != ".csv" && ending != ".json")
    fail<UsageError>(
        "--predictions {}: the name must end in .csv or .json, which selects the format", path);
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
  evaluation.save(model, title, folder);
  if (evaluation.data().form().is_image())
    plot::image_grid(top_losses_grid(evaluation, top_losses, "largest losses of " + model))
        .save(folder / "top-losses.png");
}

std::string four_digits(double value) { return fmt::format("{:.4f}", without_nan_sign(value)); }

}  // namespace learn::cli
