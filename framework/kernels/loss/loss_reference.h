#pragma once
#include "framework/kernels/loss/loss_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

/// Log-probabilities computed from their definition in double, with targets expanded to a matrix.
namespace learn::reference {

using kernels::CrossEntropyTarget;

template <class T>
[[nodiscard]] std::vector<double> log_softmax(const T* logits, std::int64_t classes) {
  std::vector<double> out;
  for (std::int64_t c = 0; c < classes; ++c) out.push_back(as_double(logits[c]));
  const double largest = *std::max_element(out.begin(), out.end());
  double sum = 0;
  for (const double z : out) sum += std::exp(z - largest);
  for (double& z : out) z -= largest + std::log(sum);
  return out;
}

template <class T, class Wide>
void softmax(
    Exec, const T* logits, std::int64_t samples, std::int64_t classes, Wide* probabilities) {
  for (std::int64_t n = 0; n < samples; ++n) {
    const std::vector<double> logs = log_softmax(logits + n * classes, classes);
    for (std::int64_t c = 0; c < classes; ++c)
      probabilities[n * classes + c] =
          static_cast<Wide>(std::exp(logs[static_cast<std::size_t>(c)]));
  }
}

template <class T, class Wide>
void log_softmax(
    Exec, const T* logits, std::int64_t samples, std::int64_t classes, Wide* logarithms) {
  for (std::int64_t n = 0; n < samples; ++n) {
    const std::vector<double> logs = log_softmax(logits + n * classes, classes);
    for (std::int64_t c = 0; c < classes; ++c)
      logarithms[n * classes + c] = static_cast<Wide>(logs[static_cast<std::size_t>(c)]);
  }
}

template <class T>
void softmax_backward(Exec,
                      kernels::SoftmaxForm form,
                      const T* y,
                      const T* dy,
                      std::int64_t samples,
                      std::int64_t classes,
                      T* dx,
                      GradMode mode) {
  const bool logarithms = form == kernels::SoftmaxForm::logarithms;
  for (std::int64_t n = 0; n < samples; ++n) {
    double total = 0;
    for (std::int64_t i = n * classes; i < (n + 1) * classes; ++i)
      total += logarithms ? as_double(dy[i]) : as_double(y[i]) * as_double(dy[i]);
    for (std::int64_t i = n * classes; i < (n + 1) * classes; ++i) {
      const double before = mode == GradMode::accumulate ? as_double(dx[i]) : 0;
      const double slope = logarithms ? as_double(dy[i]) - std::exp(as_double(y[i])) * total
                                      : as_double(y[i]) * (as_double(dy[i]) - total);
      dx[i] = from_double<T>(before + slope);
    }
  }
}

/// Returns the weight of class `c` for sample `n` after smoothing, as PyTorch's label_smoothing.
template <class Wide>
[[nodiscard]] double smoothed_weight(const CrossEntropyTarget<Wide>& target,
                                     std::int64_t n,
                                     std::int64_t c) {
  const auto smoothing = static_cast<double>(target.smoothing);
  const double weight = target.labels != nullptr
                            ? (target.labels[n] == c ? 1.0 : 0.0)
                            : as_double(target.weights[n * target.classes + c]);
  return (1 - smoothing) * weight + smoothing / static_cast<double>(target.classes);
}

template <class T, class Wide>
void softmax_cross_entropy(
    Exec, const T* logits, const CrossEntropyTarget<Wide>& target, Wide* loss, Wide* gradient) {
  const auto samples = static_cast<double>(target.samples);
  double total = 0;
  for (std::int64_t n = 0; n < target.samples; ++n) {
    const std::vector<double> logs = log_softmax(logits + n * target.classes, target.classes);
    double weights = 0;
    for (std::int64_t c = 0; c < target.classes; ++c) {
      const double weight = smoothed_weight(target, n, c);
      weights += weight;
      // A class of weight 0 costs nothing, even if its log-probability is -infinity.
      if (weight != 0) total -= weight * logs[static_cast<std::size_t>(c)];
    }
    if (gradient == nullptr) continue;
    for (std::int64_t c = 0; c < target.classes; ++c)
      gradient[n * target.classes + c] = static_cast<Wide>(
          (std::exp(logs[static_cast<std::size_t>(c)]) * weights - smoothed_weight(target, n, c)) /
          samples);
  }
  *loss = static_cast<Wide>(total / samples);
}

template <class T, class U, class Wide>
void mse_forward(Exec, const T* pred, const U* target, std::int64_t n, Wide* loss) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double off = as_double(pred[i]) - as_double(target[i]);
    sum += off * off;
  }
  *loss = static_cast<Wide>(sum / static_cast<double>(n));
}

template <class T, class U, class Wide>
void mse_backward(Exec,
                  const T* pred,
                  const U* target,
                  std::int64_t n,
                  const Wide* dloss,
                  T* dpred,
                  GradMode mode) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double before = mode == GradMode::accumulate ? as_double(dpred[i]) : 0;
    const double off = as_double(pred[i]) - as_double(target[i]);
    dpred[i] = from_double<T>(before + as_double(*dloss) * 2 * off / static_cast<double>(n));
  }
}

template <class T, class Wide>
void softmax_cross_entropy_backward(
    Exec, const Wide* gradient, std::int64_t n, const Wide* dloss, T* dx, GradMode mode) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double before = mode == GradMode::accumulate ? as_double(dx[i]) : 0;
    dx[i] = from_double<T>(before + as_double(gradient[i]) * as_double(*dloss));
  }
}

}  // namespace learn::reference
