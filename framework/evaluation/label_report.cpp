#include "framework/evaluation/label_report.h"

#include "framework/core/error.h"
#include "framework/evaluation/probabilities.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace learn {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

bool any_nan(std::span<const double> scores) {
  return std::ranges::any_of(scores, [](double score) { return std::isnan(score); });
}

/// One label of all samples.
struct Column {
  std::vector<double> scores;
  std::vector<bool> positive;
  std::int64_t taken = 0;  ///< samples predicted to have it
  std::int64_t hits = 0;   ///< of these, those that have it
  std::int64_t right = 0;  ///< decisions

  void add(float logit, bool has_it, double threshold) {
    const bool said = sigmoid(logit) > threshold;
    scores.push_back(double{logit});
    positive.push_back(has_it);
    taken += said ? 1 : 0;
    hits += said && has_it ? 1 : 0;
    right += said == has_it && !std::isnan(logit) ? 1 : 0;
  }
  [[nodiscard]] LabelScores result() const {
    const std::int64_t positives = std::count(positive.begin(), positive.end(), true);
    return {.precision = ratio(hits, taken),
            .recall = ratio(hits, positives),
            .f1 = ratio(2 * hits, taken + positives),
            .average_precision = average_precision(scores, positive),
            .positives = positives,
            .predicted = taken};
  }
};

LabelScores mean_of(const std::vector<LabelScores>& all, bool known) {
  LabelScores mean;
  const auto count = known ? static_cast<double>(all.size()) : kNaN;
  for (const LabelScores& one : all) {
    mean.precision += one.precision / count;
    mean.recall += one.recall / count;
    mean.f1 += one.f1 / count;
    mean.average_precision += one.average_precision / count;
    mean.positives += one.positives;
    mean.predicted += one.predicted;
  }
  return mean;
}

}  // namespace

std::vector<PrecisionRecall> precision_recall(std::span<const double> scores,
                                              const std::vector<bool>& positive) {
  check(scores.size() == positive.size(),
        "precision_recall: {} scores for {} samples",
        scores.size(),
        positive.size());
  const auto positives = static_cast<double>(std::count(positive.begin(), positive.end(), true));
  if (positives == 0 || any_nan(scores)) return {};
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::greater<>(), [&](std::size_t i) { return scores[i]; });
  std::vector<PrecisionRecall> curve;
  double found = 0;
  for (std::size_t at = 0; at < order.size();) {
    const double score = scores[order[at]];
    for (; at < order.size() && scores[order[at]] == score; ++at)
      found += positive[order[at]] ? 1 : 0;
    curve.push_back({.recall = found / positives, .precision = found / static_cast<double>(at)});
  }
  return curve;
}

double average_precision(std::span<const double> scores, const std::vector<bool>& positive) {
  double sum = 0, recall = 0;
  for (const PrecisionRecall& at : precision_recall(scores, positive)) {
    sum += (at.recall - recall) * at.precision;
    recall = at.recall;
  }
  return scores.empty() || any_nan(scores) ? kNaN : sum;
}

LabelReport label_report(std::span<const float> logits,
                         std::int64_t labels,
                         std::span<const float> targets,
                         double threshold) {
  check<UsageError>(threshold >= 0 && threshold < 1, "threshold {} is not in [0, 1)", threshold);
  check(labels >= 1 && logits.size() == targets.size() &&
            logits.size() % static_cast<std::size_t>(labels) == 0,
        "{} logits and {} targets for samples of {} labels",
        logits.size(),
        targets.size(),
        labels);
  std::vector<Column> columns(static_cast<std::size_t>(labels));
  for (std::size_t i = 0; i < logits.size(); ++i)
    columns[i % columns.size()].add(logits[i], has_label(targets[i]), threshold);
  LabelReport report;
  for (const Column& column : columns) {
    report.labels.push_back(column.result());
    report.right += column.right;
  }
  const bool known = !logits.empty();
  report.decisions = static_cast<std::int64_t>(logits.size());
  report.accuracy = known ? ratio(report.right, report.decisions) : kNaN;
  report.macro = mean_of(report.labels, known);
  return report;
}

}  // namespace learn
