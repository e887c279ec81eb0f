#include "framework/nn/loss.h"

#include "framework/autograd/ops/loss.h"
#include "framework/core/error.h"

namespace learn::nn {

Loss cross_entropy(float label_smoothing) {
  check<UsageError>(label_smoothing >= 0 && label_smoothing < 1,
                    "cross_entropy: label smoothing {} is not in [0, 1)",
                    label_smoothing);
  return {"cross_entropy", [label_smoothing](const Var& pred, const Tensor& target) {
            return ops::softmax_cross_entropy(pred, target, label_smoothing);
          }};
}

Loss mse() {
  return {"mse", [](const Var& pred, const Tensor& target) { return ops::mse(pred, target); }};
}

}  // namespace learn::nn
