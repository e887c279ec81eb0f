#pragma once
#include <cstdint>

namespace learn {

/// How an exponential moving average of the weights forgets.
struct EmaOptions {
  double decay = 0.999;  ///< what is kept of the average at each update; in [0, 1)
  /// Keeps less at first, min(decay, (1 + t) / (10 + t)) at update t = 1, 2, ..., so that the first
  /// weights are soon forgotten (TensorFlow's ExponentialMovingAverage).
  bool warmup = true;
  std::int64_t first_step = 0;  ///< `StepControl::step` when the averaging started
};

}  // namespace learn
