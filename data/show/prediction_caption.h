#pragma once
#include "framework/drawing/image_grid.h"
#include "framework/interfaces/target_kind.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace learn::data {

/// A sample's targets, as far as known, and the model's outputs for it. Borrows all.
struct JudgedTargets {
  TargetKind kind = TargetKind::classes;
  std::span<const std::string> names;  ///< of the classes, labels or values
  std::int64_t truth = -1;             ///< for classes; -1: unknown
  std::span<const float> targets{};    ///< for labels and values; empty: unknown
  std::span<const double> outputs{};   ///< as `interpret` gives them
  double threshold = 0.5;              ///< for labels
};

/// Returns the true targets: "cat", "sky, sea"; nothing if unknown. Real numbers are shown next to
/// the predicted ones instead.
[[nodiscard]] std::string truth_text(const JudgedTargets& judged);
/// Returns the true targets with the probability of a true class: "cat 12 %".
[[nodiscard]] std::string truth_with_probability(const JudgedTargets& judged);

/// Returns the prediction, in blue if it is right or the target is unknown, and in orange if not: a
/// class and its probability; a line for each predicted label, and after "not" for each missed one,
/// the wrong ones first; a line for each value, in ink, with the true one. At most four lines, of
/// which the last counts the rest. "NaN" if an output of classes or labels is NaN.
[[nodiscard]] std::vector<plot::CaptionLine> prediction_lines(const JudgedTargets& judged);

/// Returns a description of these lines, for the head of a gallery: "predicted class and its
/// probability, blue if right".
[[nodiscard]] std::string prediction_legend(TargetKind kind, bool truth_known);
/// Returns "true class"; nothing for real numbers, which have no separate line for it.
[[nodiscard]] std::string truth_legend(TargetKind kind);

}  // namespace learn::data
