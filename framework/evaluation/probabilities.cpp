#include "framework/evaluation/probabilities.h"

#include <algorithm>
#include <cmath>

namespace learn {
namespace {

/// The largest; NaN if there is one.
double top_of(std::span<const float> logits) {
  double top = -HUGE_VAL;
  for (const float v : logits) {
    if (std::isnan(v)) return v;
    top = std::max(top, static_cast<double>(v));
  }
  return top;
}

}  // namespace

std::vector<double> softmax(std::span<const float> logits) {
  const double top = top_of(logits);
  std::vector<double> out(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] = std::exp(logits[i] - top);
  for (double& p : out) p /= sum;
  return out;
}

double sigmoid(float logit) { return 1 / (1 + std::exp(-double{logit})); }

std::vector<double> interpret(TargetKind kind, std::span<const float> outputs) {
  if (kind == TargetKind::classes) return softmax(outputs);
  std::vector<double> out(outputs.begin(), outputs.end());
  if (kind == TargetKind::labels) std::ranges::transform(outputs, out.begin(), sigmoid);
  return out;
}

double negative_log_softmax(std::span<const float> logits, std::size_t of) {
  const double top = top_of(logits);
  double sum = 0;
  for (const float v : logits) sum += std::exp(v - top);
  return std::log(sum) - (logits[of] - top);
}

}  // namespace learn
