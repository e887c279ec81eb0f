#include "framework/evaluation/roc_auc.h"

#include "framework/core/error.h"
#include "framework/evaluation/logit_rows.h"
#include "framework/evaluation/probabilities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace learn {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double roc_auc(std::span<const double> scores, const std::vector<bool>& positive) {
  check(scores.size() == positive.size(),
        "roc_auc: {} scores for {} samples",
        scores.size(),
        positive.size());
  if (std::ranges::any_of(scores, [](double score) { return std::isnan(score); })) return kNaN;
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  // Twice the pairs that are in order, so that ties are whole numbers.
  double twice_ordered = 0, positives = 0, negatives = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    double tied_positives = 0, tied_negatives = 0;
    std::size_t end = begin;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end)
      ++(positive[order[end]] ? tied_positives : tied_negatives);
    twice_ordered += tied_positives * (2 * negatives + tied_negatives);
    positives += tied_positives;
    negatives += tied_negatives;
    begin = end;
  }
  return positives > 0 && negatives > 0 ? twice_ordered / (2 * positives * negatives) : kNaN;
}

double mean_roc_auc(std::span<const float> logits,
                    std::int64_t classes,
                    std::span<const std::int64_t> truths) {
  const LogitRows rows(logits, classes, truths);
  const auto columns = static_cast<std::size_t>(classes);
  std::vector<std::vector<double>> scores(columns, std::vector<double>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double> p = softmax(rows.row(i));
    if (std::isnan(p.front())) return kNaN;
    for (std::size_t c = 0; c < columns; ++c) scores[c][i] = p[c];
  }
  double sum = 0;
  int used = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    std::vector<bool> positive(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) positive[i] = rows.truth(i) == c;
    const double area = roc_auc(scores[c], positive);
    if (std::isnan(area)) continue;
    sum += area;
    ++used;
  }
  return used > 0 ? sum / used : kNaN;
}

}  // namespace learn
