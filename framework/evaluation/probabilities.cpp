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

/// The logarithm of the mean of two numbers, of their logarithms.
double log_mean(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  const double top = std::max(a, b);
  if (std::isinf(top)) return top;  // the difference of two infinities would be NaN
  return top + std::log1p(std::exp(std::min(a, b) - top)) - std::log(2.0);
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

double negative_log_sigmoid(double logit) {
  return std::log1p(std::exp(-std::abs(logit))) + std::max(-logit, 0.0);
}

std::vector<float> mean_outputs(TargetKind kind,
                                std::span<const float> one,
                                std::span<const float> other) {
  std::vector<float> out;
  for (std::size_t i = 0; i < one.size(); ++i) {
    double mean = (double{one[i]} + double{other[i]}) / 2;
    if (kind == TargetKind::classes) {
      mean = log_mean(-negative_log_softmax(one, i), -negative_log_softmax(other, i));
    } else if (kind == TargetKind::labels) {
      const double there = log_mean(-negative_log_sigmoid(one[i]), -negative_log_sigmoid(other[i]));
      mean = there - log_mean(-negative_log_sigmoid(-one[i]), -negative_log_sigmoid(-other[i]));
    }
    out.push_back(static_cast<float>(mean));
  }
  return out;
}

}  // namespace learn
