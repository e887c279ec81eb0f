#pragma once
#include "apps/learn/model/evaluation.h"
#include "framework/evaluation/calibration.h"
#include "framework/evaluation/confusion_matrix.h"

namespace learn::cli {

/// Of images of one class each: confusion, scores of the classes, calibration. Saves confusion.csv,
/// classes.csv, calibration.csv, confusion.png and calibration.png.
class ClassEvaluation final : public Evaluation {
 public:
  /// The predictions are with decoded classes.
  ClassEvaluation(const data::Dataset& data, Predictions predictions);

  [[nodiscard]] std::string table() const override;
  [[nodiscard]] std::string summary() const override;
  [[nodiscard]] std::string details(bool confusion) const override;
  [[nodiscard]] nlohmann::ordered_json summary_json() const override;
  [[nodiscard]] nlohmann::ordered_json scores_json(bool confusion) const override;
  [[nodiscard]] std::vector<TextTable::Column> top_columns() const override;
  [[nodiscard]] std::vector<std::string> top_cells(std::size_t i) const override;
  [[nodiscard]] std::vector<std::string> prediction_columns() const override;
  [[nodiscard]] std::vector<Cell> prediction_cells(std::size_t i) const override;
  [[nodiscard]] nlohmann::ordered_json prediction_json(std::size_t i) const override;
  void save(const std::string& model,
            const std::string& title,
            const std::filesystem::path& folder) const override;
  [[nodiscard]] std::vector<html::Block> blocks() const override;

 private:
  /// Of an image; -1: none, as an output is NaN.
  [[nodiscard]] std::int64_t predicted(std::size_t i) const;
  [[nodiscard]] const std::string& name_of(std::int64_t of_class) const;
  [[nodiscard]] std::int64_t right() const;

  ConfusionMatrix confusion_;
  Calibration calibration_;
};

}  // namespace learn::cli
