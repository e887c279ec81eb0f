#include "framework/evaluation/calibration.h"

#include "framework/core/error.h"
#include "framework/evaluation/confusion_matrix.h"
#include "framework/evaluation/logit_rows.h"
#include "framework/evaluation/probabilities.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace learn {
namespace {

/// Returns the bin of (0, 1] that contains a probability.
std::size_t bin_of(double probability, std::size_t bins) {
  const double place = std::ceil(probability * static_cast<double>(bins)) - 1;
  return std::min(bins - 1, static_cast<std::size_t>(std::max(0.0, place)));
}

double squared_error(std::span<const double> probabilities, std::size_t truth) {
  double sum = 0;
  for (std::size_t c = 0; c < probabilities.size(); ++c) {
    const double error = probabilities[c] - (c == truth ? 1 : 0);
    sum += error * error;
  }
  return sum;
}

}  // namespace

double expected_calibration_error(std::span<const CalibrationBin> bins) {
  double sum = 0, count = 0;
  for (const CalibrationBin& bin : bins) {
    if (bin.count == 0) continue;
    sum += static_cast<double>(bin.count) * std::abs(bin.correct - bin.confidence);
    count += static_cast<double>(bin.count);
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

Calibration calibration(std::span<const float> logits,
                        std::int64_t classes,
                        std::span<const std::int64_t> truths,
                        int bins) {
  check<UsageError>(bins >= 1, "calibration: there must be at least one bin, not {}", bins);
  const LogitRows rows(logits, classes, truths);
  Calibration out{.bins = std::vector<CalibrationBin>(static_cast<std::size_t>(bins))};
  bool all_known = !truths.empty();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int guess = predicted_class(rows.row(i));
    all_known = all_known && guess >= 0;
    if (guess < 0) continue;
    const std::vector<double> p = softmax(rows.row(i));
    const double confidence = p[static_cast<std::size_t>(guess)];
    CalibrationBin& bin = out.bins[bin_of(confidence, out.bins.size())];
    ++bin.count;
    bin.confidence += confidence;
    bin.correct += guess == truths[i] ? 1 : 0;
    out.nll += negative_log_softmax(rows.row(i), rows.truth(i));
    out.brier += squared_error(p, rows.truth(i));
  }
  for (CalibrationBin& bin : out.bins) {
    if (bin.count == 0) continue;
    bin.confidence /= static_cast<double>(bin.count);
    bin.correct /= static_cast<double>(bin.count);
    out.mce = std::max(out.mce, std::abs(bin.correct - bin.confidence));
  }
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(rows.size());
  out.ece = all_known ? expected_calibration_error(out.bins) : kNaN;
  out.mce = all_known ? out.mce : kNaN;
  out.nll = all_known ? out.nll / count : kNaN;
  out.brier = all_known ? out.brier / count : kNaN;
  return out;
}

}  // namespace learn
