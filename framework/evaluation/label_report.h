#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace learn {

/// A label is predicted if its probability is above this.
inline constexpr double kLabelThreshold = 0.5;

/// Whether a target has a label: it is 0 or 1 unless it was smoothed or mixed.
[[nodiscard]] constexpr bool has_label(float target) noexcept { return target >= 0.5F; }

/// Scores of one label of a multi-label task.
struct LabelScores {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
  double average_precision = 0;
  std::int64_t positives = 0;  ///< samples that have the label; of the mean, of all labels
  std::int64_t predicted = 0;  ///< samples predicted to have it; the same
};

/// Scores of each label and their mean, as scikit-learn's precision_recall_fscore_support and
/// average_precision_score with average="macro" and zero_division=0: all labels have the same
/// weight, and a ratio of nothing to nothing is 0.
struct LabelReport {
  std::vector<LabelScores> labels;
  LabelScores macro;
  std::int64_t decisions = 0;  ///< one for each label of each sample
  std::int64_t right = 0;      ///< of these; a NaN never is
  /// right / decisions: 1 minus scikit-learn's hamming_loss.
  double accuracy = 0;
};

/// Computes it from logits (N,labels) and as many targets, as `has_label` reads them. A NaN counts
/// as not predicted, and the average precision of its label is NaN. Means are NaN without samples.
/// Throws ShapeError unless there are as many of both, UsageError unless `threshold` is in [0, 1).
[[nodiscard]] LabelReport label_report(std::span<const float> logits,
                                       std::int64_t labels,
                                       std::span<const float> targets,
                                       double threshold = kLabelThreshold);

/// For the samples with the largest scores as predictions: the share of all positive samples that
/// they contain, and the share of them that is positive.
struct PrecisionRecall {
  double recall = 0;
  double precision = 0;
};
/// At each score there is, the largest first: samples of equal scores come together. Empty without
/// positive samples, or if a score is NaN. Throws ShapeError unless there are as many of both.
[[nodiscard]] std::vector<PrecisionRecall> precision_recall(std::span<const double> scores,
                                                            const std::vector<bool>& positive);

/// The sum of these precisions, each weighed by the recall that is won there (scikit-learn's
/// average_precision_score). 0 without positive samples, NaN without samples or if a score is NaN.
/// Throws as `precision_recall`.
[[nodiscard]] double average_precision(std::span<const double> scores,
                                       const std::vector<bool>& positive);

}  // namespace learn
