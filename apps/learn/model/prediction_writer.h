#pragma once
#include "apps/learn/model/prediction_form.h"

#include <memory>
#include <span>
#include <string>

namespace learn::cli {

/// Result for an image.
struct PredictedImage {
  std::string name;
  Prediction prediction;
  std::string error;  ///< why there is no prediction; empty if there is one
};

enum class PredictionFormat : std::uint8_t { text, csv, json };

/// Prints predictions to standard output.
class PredictionWriter {
 public:
  virtual ~PredictionWriter() = default;
  PredictionWriter() = default;
  PredictionWriter(const PredictionWriter&) = delete;
  PredictionWriter& operator=(const PredictionWriter&) = delete;

  virtual void write(std::span<const PredictedImage> images) = 0;
  virtual void end() = 0;
};

/// One that shows each as `form` does. CSV and JSON are printed immediately, including the error of
/// an image without a prediction; a table is printed at the end, without such images. `sample`: the
/// table's heading of the samples' names, "image" or "row".
[[nodiscard]] std::unique_ptr<PredictionWriter> make_prediction_writer(
    PredictionFormat format, std::unique_ptr<PredictionForm> form, const std::string& sample);

}  // namespace learn::cli
