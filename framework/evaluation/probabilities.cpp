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

/// The negative log-softmax of each element of a row; the sum over the row is computed once.
class NegativeLogSoftmax {
 public:
  explicit NegativeLogSoftmax(std::span<const float> logits)
      : logits_(logits), top_(top_of(logits)) {
    double sum = 0;
    for (const float v : logits) sum += std::exp(v - top_);
    log_sum_ = std::log(sum);
  }
  [[nodiscard]] double operator()(std::size_t of) const { return log_sum_ - (logits_[of] - top_); }

 private:
  std::span<const float> logits_;
  double top_;
  double log_sum_ = 0;
};

std::vector<float> mean_of_classes(std::span<const float> one, std::span<const float> other) {
  const NegativeLogSoftmax of_one(one), of_other(other);
  std::vector<float> out;
  for (std::size_t i = 0; i < one.size(); ++i)
    out.push_back(static_cast<float>(log_mean(-of_one(i), -of_other(i))));
  return out;
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
  return NegativeLogSoftmax(logits)(of);
}

double negative_log_sigmoid(double logit) {
  return std::log1p(std::exp(-std::abs(logit))) + std::max(-logit, 0.0);
}

std::vector<float> mean_outputs(TargetKind kind,
                                std::span<const float> one,
                                std::span<const float> other) {
  if (kind == TargetKind::classes) return mean_of_classes(one, other);
  std::vector<float> out;
  for (std::size_t i = 0; i < one.size(); ++i) {
    double mean = (double{one[i]} + double{other[i]}) / 2;
    if (kind == TargetKind::labels) {
      const double there = log_mean(-negative_log_sigmoid(one[i]), -negative_log_sigmoid(other[i]));
      mean = there - log_mean(-negative_log_sigmoid(-one[i]), -negative_log_sigmoid(-other[i]));
    }
    out.push_back(static_cast<float>(mean));
  }
  return out;
}

}  // namespace learn
