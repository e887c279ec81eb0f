#pragma once
#include "framework/autograd/var.h"

#include <functional>
#include <string>

namespace learn::nn {

/// A loss function: predictions on the tape and targets to one f32 element on the tape, the mean
/// over the samples of the batch.
struct Loss {
  std::string name;
  std::function<Var(const Var& pred, const Tensor& target)> fn;
};

/// Softmax cross-entropy of logits (N,classes) with classes (N) i64 or soft targets (N,classes)
/// f32, accumulated in f32 whatever the input. `label_smoothing` in [0,1) as PyTorch defines it.
[[nodiscard]] Loss cross_entropy(float label_smoothing = 0);
/// Mean of squared differences over all elements; target has the prediction's shape, f32.
[[nodiscard]] Loss mse();

}  // namespace learn::nn
