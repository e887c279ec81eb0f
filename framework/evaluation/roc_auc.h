#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace learn {

/// The area under the ROC curve: the share of pairs of a positive and a negative sample of which
/// the positive one has the larger score, where equal scores count half. Exact: the Mann-Whitney U
/// statistic over the number of pairs. NaN without positive or without negative samples, or if a
/// score is NaN. Throws ShapeError unless there are as many of both.
[[nodiscard]] double roc_auc(std::span<const double> scores, const std::vector<bool>& positive);

/// Computes it from logits (N,classes) and the N true classes: each class against all others, by
/// its probability, and the mean over the classes (scikit-learn's roc_auc_score with
/// multi_class="ovr", average="macro"). Classes that no sample or every sample has are left out of
/// the mean, where scikit-learn refuses; NaN if that leaves none, or a logit is NaN. Sorts the
/// samples once per class. Throws ShapeError and DataError as `calibration`.
[[nodiscard]] double mean_roc_auc(std::span<const float> logits,
                                  std::int64_t classes,
                                  std::span<const std::int64_t> truths);

}  // namespace learn
