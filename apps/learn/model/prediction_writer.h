#pragma once
#include "apps/learn/model/prediction_form.h"

#include <memory>
#include <span>
#include <string>

namespace learn::cli {

/// What became of an image.
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

/// One that shows each as `form` does. As CSV and JSON every image is there as soon as it is known,
/// with the error of one that has no prediction; as a table they are printed at the end, without
/// those. `sample`: the table's heading of the samples' names, "image" or "row".
[[nodiscard]] std::unique_ptr<PredictionWriter> make_prediction_writer(
    PredictionFormat format, std::unique_ptr<PredictionForm> form, const std::string& sample);

}  // namespace learn::cli
