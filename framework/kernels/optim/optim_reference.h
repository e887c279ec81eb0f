#pragma once
#include "framework/kernels/optim/optim_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

/// Processes one element after the other in double, with the formulas of the papers and of PyTorch;
/// rounded once when stored.
namespace learn::reference {

using kernels::OptimArgs;

/// Calls `update(i, w, g)`, which returns the new weight, and applies decay before and storing
/// after it.
template <class S, class T, class Update>
void for_each_weight(const OptimArgs<S, T>& a, Update update) {
  if (a.control->found_inf != 0) return;
  const double lr = a.hypers->lr;
  const double decay = a.hypers->weight_decay;
  for (std::int64_t i = 0; i < a.n; ++i) {
    double w = as_double(a.weight[i]);
    double g = as_double(a.grad[i]) * static_cast<double>(a.control->grad_multiplier);
    if (a.decoupled)
      w *= 1 - lr * decay;
    else
      g += decay * w;
    a.weight[i] = from_double<S>(update(i, w, g));
    if (a.half != nullptr) a.half[i] = from_float<T>(as_float(a.weight[i]));
  }
}

template <class S, class T>
void sgd_step(Exec, const OptimArgs<S, T>& a, S* buffer, bool nesterov) {
  const GroupHypers& h = *a.hypers;
  const bool first = a.control->step - a.missed_steps == 0;
  for_each_weight(a, [&](std::int64_t i, double w, double g) {
    double direction = g;
    if (buffer != nullptr) {
      const double momentum = h.momentum;
      const double b =
          first ? g
                : momentum * as_double(buffer[i]) + (1.0 - static_cast<double>(h.dampening)) * g;
      buffer[i] = from_double<S>(b);
      direction = nesterov ? g + momentum * b : b;
    }
    return w - static_cast<double>(h.lr) * direction;
  });
}

template <class S, class T>
void adam_step(Exec, const OptimArgs<S, T>& a, S* mean, S* square) {
  const double beta1 = a.hypers->momentum;
  const double beta2 = a.hypers->beta2;
  const auto t = static_cast<double>(a.control->step - a.missed_steps + 1);
  for_each_weight(a, [&](std::int64_t i, double w, double g) {
    const double m = beta1 * as_double(mean[i]) + (1 - beta1) * g;
    const double v = beta2 * as_double(square[i]) + (1 - beta2) * g * g;
    mean[i] = from_double<S>(m);
    square[i] = from_double<S>(v);
    const double m_hat = m / (1 - std::pow(beta1, t));
    const double v_hat = v / (1 - std::pow(beta2, t));
    return w - static_cast<double>(a.hypers->lr) * m_hat /
                   (std::sqrt(v_hat) + static_cast<double>(a.hypers->eps));
  });
}

template <class S, class T>
void rmsprop_step(Exec, const OptimArgs<S, T>& a, S* square, S* mean, S* buffer) {
  const double alpha = a.hypers->beta2;
  for_each_weight(a, [&](std::int64_t i, double w, double g) {
    double variance = alpha * as_double(square[i]) + (1 - alpha) * g * g;
    square[i] = from_double<S>(variance);
    if (mean != nullptr) {
      const double average = alpha * as_double(mean[i]) + (1 - alpha) * g;
      mean[i] = from_double<S>(average);
      variance = std::max(0.0, variance - average * average);
    }
    double direction = g / (std::sqrt(variance) + static_cast<double>(a.hypers->eps));
    if (buffer != nullptr) {
      direction += static_cast<double>(a.hypers->momentum) * as_double(buffer[i]);
      buffer[i] = from_double<S>(direction);
    }
    return w - static_cast<double>(a.hypers->lr) * direction;
  });
}

inline void write_hypers(Exec, std::span<const GroupHypers> values, GroupHypers* blocks) {
  std::copy(values.begin(), values.end(), blocks);
}

}  // namespace learn::reference
