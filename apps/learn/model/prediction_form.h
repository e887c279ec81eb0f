#pragma once
#include "framework/inference/predictor.h"
#include "framework/io/csv.h"
#include "framework/terminal/text_table.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace learn::cli {

/// How the prediction of an image is shown, by the kind of what was predicted.
class PredictionForm {
 public:
  virtual ~PredictionForm() = default;
  PredictionForm() = default;
  PredictionForm(const PredictionForm&) = delete;
  PredictionForm& operator=(const PredictionForm&) = delete;

  /// Columns and cells of a table, after the name of the image.
  [[nodiscard]] virtual std::vector<TextTable::Column> columns() const = 0;
  [[nodiscard]] virtual std::vector<std::string> texts(const Prediction& prediction) const = 0;
  /// Output for programs.
  [[nodiscard]] virtual std::vector<std::string> header() const = 0;
  [[nodiscard]] virtual std::vector<Cell> cells(const Prediction& prediction) const = 0;
  /// Adds to an object.
  virtual void add_to(nlohmann::ordered_json& entry, const Prediction& prediction) const = 0;
};

/// Parts of a prediction to show.
struct Shown {
  std::int64_t top = 3;                ///< most probable classes; 0: all
  double threshold = kLabelThreshold;  ///< above which a label is predicted
};
/// For the predictions of such a model: the most probable classes; the predicted labels, and in
/// files the probabilities of all; or the values by name.
[[nodiscard]] std::unique_ptr<PredictionForm> make_prediction_form(const SavedModel& model,
                                                                   const Shown& shown);

}  // namespace learn::cli
