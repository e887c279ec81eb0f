#pragma once
#include "apps/learn/model/evaluation.h"
#include "apps/learn/model/score_table.h"

namespace learn::cli {

/// Of images of several labels each: scores of the labels and what is right. Saves labels.csv and
/// precision-recall.png.
class LabelEvaluation final : public Evaluation {
 public:
  LabelEvaluation(const data::Dataset& data, Predictions predictions, double threshold);

  [[nodiscard]] std::string table() const override;
  [[nodiscard]] std::string summary() const override;
  [[nodiscard]] std::string details(bool confusion) const override;
  [[nodiscard]] nlohmann::ordered_json summary_json() const override;
  [[nodiscard]] nlohmann::ordered_json scores_json(bool confusion) const override;
  [[nodiscard]] std::vector<TextTable::Column> top_columns() const override;
  [[nodiscard]] std::vector<std::string> top_cells(std::size_t i) const override;
  [[nodiscard]] double threshold() const override { return threshold_; }
  [[nodiscard]] std::vector<std::string> prediction_columns() const override;
  [[nodiscard]] std::vector<Cell> prediction_cells(std::size_t i) const override;
  [[nodiscard]] nlohmann::ordered_json prediction_json(std::size_t i) const override;
  void save(const std::string& model,
            const std::string& title,
            const std::filesystem::path& folder) const override;
  [[nodiscard]] std::vector<html::Block> blocks() const override;

 private:
  /// Those whose probability is above the threshold.
  [[nodiscard]] std::vector<std::string> predicted(std::size_t i) const;
  /// Images of which every label is right.
  [[nodiscard]] std::int64_t all_right() const;

  double threshold_;
  LabelReport report_;
  ScoreTable scores_;
};

}  // namespace learn::cli
