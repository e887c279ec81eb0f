#pragma once
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <functional>
#include <string>

namespace learn {

class Context;

/// A mean over samples of a validation pass. Batches count by their size, so a short last one does
/// not count too much.
struct Metric {
  std::string name;
  /// Sum over the batch's samples. `pred` (N,classes) f32 and `target` as the batch holds it.
  std::function<double(Context&, const Tensor& pred, const Tensor& target)> sum;
};

namespace metrics {
[[nodiscard]] Metric accuracy();
[[nodiscard]] Metric error_rate();
/// Share of samples whose class is among the `k` largest logits.
[[nodiscard]] Metric top_k(int k);
}  // namespace metrics

}  // namespace learn
