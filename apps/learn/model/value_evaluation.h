#pragma once
#include "apps/learn/model/evaluation.h"
#include "apps/learn/model/score_table.h"
#include "framework/evaluation/value_report.h"

#include <span>

namespace learn::cli {

/// Of images with real targets: how far predictions are from them. Saves values.csv and
/// predictions.png.
class ValueEvaluation final : public Evaluation {
 public:
  ValueEvaluation(const data::Dataset& data, Predictions predictions);

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
  [[nodiscard]] std::span<const float> truths(std::size_t i) const {
    return data().targets_of(static_cast<std::int64_t>(i));
  }

  ValueReport report_;
  ScoreTable scores_;
};

}  // namespace learn::cli
