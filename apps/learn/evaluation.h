#pragma once
#include "data/dataset.h"
#include "framework/drawing/confusion_matrix_figure.h"
#include "framework/drawing/image_grid.h"
#include "framework/evaluation/calibration.h"
#include "framework/evaluation/confusion_matrix.h"
#include "framework/inference/saved_model.h"
#include "framework/learner/learner.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace learn::cli {

/// What a model made of one image.
struct JudgedSample {
  std::string file;  ///< or its number, if it is not from a file
  std::int64_t truth = 0;
  std::int64_t predicted = 0;  ///< -1: a NaN
  std::vector<double> probabilities;
  double loss = 0;
};

/// What a model made of the images of a set, on the host.
class Evaluation {
 public:
  /// Borrows the set; the predictions are of all its images in order, with losses and decoded
  /// classes.
  Evaluation(const data::Dataset& data, Predictions predictions);

  [[nodiscard]] const data::Dataset& data() const noexcept { return data_; }
  [[nodiscard]] const Predictions& predictions() const noexcept { return predictions_; }
  [[nodiscard]] const ConfusionMatrix& confusion() const noexcept { return confusion_; }
  [[nodiscard]] const Calibration& calibration() const noexcept { return calibration_; }
  [[nodiscard]] std::size_t size() const noexcept { return data_.labels.size(); }
  [[nodiscard]] JudgedSample sample(std::size_t i) const;
  /// Images of the largest loss, the largest first.
  [[nodiscard]] std::vector<std::size_t> top_losses(std::int64_t count) const;

 private:
  const data::Dataset& data_;
  Predictions predictions_;
  ConfusionMatrix confusion_;
  Calibration calibration_;
};

/// How images are measured.
struct Batches {
  std::int64_t size = 256;
  std::int64_t workers = 2;  ///< threads that prepare batches
};
/// What the weights in a checkpoint make of a set: in f32, batch by batch, as in a validation.
/// Borrows the set. Throws DataError for a set of other classes than the model's, CheckpointError.
[[nodiscard]] Evaluation evaluate(Context& ctx,
                                  const std::filesystem::path& weights,
                                  const SavedModel& model,
                                  const data::Dataset& data,
                                  const Batches& batches);

/// Its confusion matrix, to be drawn.
[[nodiscard]] plot::ConfusionFigure confusion_figure(const Evaluation& evaluation,
                                                     const std::string& title);
/// The `count` images of the largest loss, to be drawn.
[[nodiscard]] plot::ImageGrid top_losses_grid(const Evaluation& evaluation,
                                              std::int64_t count,
                                              const std::string& title);

/// Writes what was made of each image: as CSV, file,truth,predicted,loss and the probability of
/// each class, or a JSON array of objects, as the name ends in .csv or .json. Throws UsageError for
/// another name, IoError.
void write_predictions(const Evaluation& evaluation, const std::filesystem::path& path);
/// Throws UsageError for a name that `write_predictions` would not take.
void check_predictions_name(const std::string& path);

/// Writes confusion.csv, classes.csv, calibration.csv, confusion.png, calibration.png and
/// top-losses.png with `top_losses` images into a folder, which is made if it is not there.
/// `title` says the model and what it was measured on. Throws IoError.
void save_evaluation(const Evaluation& evaluation,
                     std::int64_t top_losses,
                     const std::string& model,
                     const std::string& title,
                     const std::filesystem::path& folder);

}  // namespace learn::cli
