#pragma once
#include "data/dataset.h"
#include "framework/drawing/image_grid.h"
#include "framework/evaluation/label_report.h"
#include "framework/html/page.h"
#include "framework/inference/saved_model.h"
#include "framework/io/csv.h"
#include "framework/learner/learner.h"
#include "framework/nn/test_views.h"
#include "framework/terminal/text_table.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace learn::cli {

/// Predictions of a model for the images of a set, on the host. Derived classes evaluate them by
/// the kind of targets.
class Evaluation {
 public:
  /// Borrows the set; the predictions are of all its images in order, with losses.
  Evaluation(const data::Dataset& data, Predictions predictions);
  virtual ~Evaluation() = default;
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  [[nodiscard]] const data::Dataset& data() const noexcept { return data_; }
  [[nodiscard]] const Predictions& predictions() const noexcept { return predictions_; }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(data_.size()); }
  /// The name of an image's file, or its number, if it is not from a file.
  [[nodiscard]] std::string file(std::size_t i) const;
  [[nodiscard]] double loss(std::size_t i) const;
  /// Interpretation of the outputs, as `interpret` gives that.
  [[nodiscard]] std::vector<double> outputs(std::size_t i) const;
  /// Images of which an output is NaN.
  [[nodiscard]] std::int64_t undecided() const;
  /// Images of the largest loss, the largest first.
  [[nodiscard]] std::vector<std::size_t> top_losses(std::int64_t count) const;

  /// Scores of each class, label or value and their means.
  [[nodiscard]] virtual std::string table() const = 0;
  /// Scores after the loss, in a line.
  [[nodiscard]] virtual std::string summary() const = 0;
  /// Further lines, if any; with the confusion matrix, if requested and available.
  [[nodiscard]] virtual std::string details(bool confusion) const = 0;

  /// Output for programs: the values of `summary`, and those of `table` and `details`. Undefined
  /// shares are null, as are numbers that are not finite.
  [[nodiscard]] virtual nlohmann::ordered_json summary_json() const = 0;
  [[nodiscard]] virtual nlohmann::ordered_json scores_json(bool confusion) const = 0;

  /// Columns of a table of the largest losses, after file and loss, and the cells of an image.
  [[nodiscard]] virtual std::vector<TextTable::Column> top_columns() const = 0;
  [[nodiscard]] virtual std::vector<std::string> top_cells(std::size_t i) const = 0;
  /// Probability above which a label is predicted.
  [[nodiscard]] virtual double threshold() const { return kLabelThreshold; }

  /// Predictions of each image, as CSV with a header, or as JSON.
  [[nodiscard]] virtual std::vector<std::string> prediction_columns() const = 0;
  [[nodiscard]] virtual std::vector<Cell> prediction_cells(std::size_t i) const = 0;
  [[nodiscard]] virtual nlohmann::ordered_json prediction_json(std::size_t i) const = 0;

  /// Writes tables and drawings, all but the largest losses, into a folder. `model` and `title`
  /// describe what was measured. Throws IoError.
  virtual void save(const std::string& model,
                    const std::string& title,
                    const std::filesystem::path& folder) const = 0;
  /// Returns them for a page.
  [[nodiscard]] virtual std::vector<html::Block> blocks() const = 0;

 private:
  const data::Dataset& data_;
  Predictions predictions_;
};
/// Evaluate predictions of images with one class each (which need decoded classes), with several
/// labels each (predicted above the threshold), and with real targets.
[[nodiscard]] std::unique_ptr<Evaluation> evaluation_of_classes(const data::Dataset& data,
                                                                Predictions predictions);
[[nodiscard]] std::unique_ptr<Evaluation> evaluation_of_labels(const data::Dataset& data,
                                                               Predictions predictions,
                                                               double threshold);
[[nodiscard]] std::unique_ptr<Evaluation> evaluation_of_values(const data::Dataset& data,
                                                               Predictions predictions);

/// How images are measured.
struct Measuring {
  std::int64_t batch_size = 256;
  std::int64_t workers = 2;            ///< threads that prepare batches
  double threshold = kLabelThreshold;  ///< above which a label is predicted
  std::optional<nn::TestViews> views;  ///< of each image, whose mean prediction is measured
};
struct Evaluations {
  std::unique_ptr<Evaluation> measured;
  std::unique_ptr<Evaluation> plain;  ///< of the plain images, if `measured` is of several views;
                                      ///< otherwise null
};
/// Evaluates the weights of a checkpoint on a set, in f32, batch by batch, as in a validation.
/// Borrows the set. Throws DataError for a set whose targets differ from the model's,
/// CheckpointError, and UsageError for views of samples that are not images.
[[nodiscard]] Evaluations evaluate(Context& ctx,
                                   const std::filesystem::path& weights,
                                   const SavedModel& model,
                                   const data::Dataset& data,
                                   const Measuring& measuring);
/// The loss that is measured, in words: "cross-entropy".
[[nodiscard]] std::string_view loss_name(TargetKind kind);

/// The `count` images of the largest loss, to be drawn.
[[nodiscard]] plot::ImageGrid top_losses_grid(const Evaluation& evaluation,
                                              std::int64_t count,
                                              const std::string& title);

/// Writes the predictions of each image, as CSV or a JSON array of objects, depending on the
/// extension .csv or .json. Throws UsageError for another name, IoError.
void write_predictions(const Evaluation& evaluation, const std::filesystem::path& path);
/// Throws UsageError for a name that `write_predictions` would not take.
void check_predictions_name(const std::string& path);

/// Writes tables, drawings and top-losses.png with `top_losses` images into a folder, which is made
/// if it is not there. Throws IoError.
void save_evaluation(const Evaluation& evaluation,
                     std::int64_t top_losses,
                     const std::string& model,
                     const std::string& title,
                     const std::filesystem::path& folder);

/// Prints a value with four digits after the decimal point, as texts show it.
[[nodiscard]] std::string four_digits(double value);

}  // namespace learn::cli
