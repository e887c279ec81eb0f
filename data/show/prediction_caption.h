#pragma once
#include "framework/drawing/image_grid.h"
#include "framework/interfaces/target_kind.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace learn::data {

/// A sample, as far as its targets are known, and what a model says of it. Borrows all.
struct JudgedTargets {
  TargetKind kind = TargetKind::classes;
  std::span<const std::string> names;  ///< of the classes, labels or values
  std::int64_t truth = -1;             ///< of classes; -1: not known
  std::span<const float> targets{};    ///< of labels and values; empty: not known
  std::span<const double> outputs{};   ///< as `interpret` gives them
  double threshold = 0.5;              ///< of labels
};

/// The truth: "cat", "sky, sea"; empty if it is unknown. Real numbers are shown next to the
/// predictions.
[[nodiscard]] std::string truth_text(const JudgedTargets& judged);
/// The truth with the probability of a true class: "cat 12 %".
[[nodiscard]] std::string truth_with_probability(const JudgedTargets& judged);

/// The prediction, in blue if it is right or the truth is unknown, otherwise in orange: a class and
/// its probability; a line for each label that was said, and after "not" for each that was missed,
/// the wrong ones first; a line for each value, in ink, with the true one. No more than four lines,
/// of which the last says how many more there are. "NaN" if an output of classes or labels is.
[[nodiscard]] std::vector<plot::CaptionLine> prediction_lines(const JudgedTargets& judged);

/// A description of these lines for the head of a gallery: "predicted class and its probability,
/// blue if right".
[[nodiscard]] std::string prediction_legend(TargetKind kind, bool truth_known);
/// "true class"; empty for real numbers, which have no separate line.
[[nodiscard]] std::string truth_legend(TargetKind kind);

}  // namespace learn::data
