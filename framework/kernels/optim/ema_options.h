#pragma once
#include <cstdint>

namespace learn {

/// The decay of an exponential moving average of the weights.
struct EmaOptions {
  double decay = 0.999;  ///< share of the average kept at each update; in [0, 1)
  /// Uses a smaller decay at first, min(decay, (1 + t) / (10 + t)) at update t = 1, 2, ..., so that
  /// the average soon forgets the first weights (TensorFlow's ExponentialMovingAverage).
  bool warmup = true;
  std::int64_t first_step = 0;  ///< `StepControl::step` when the averaging started
};

}  // namespace learn
