#pragma once
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace learn {

class Context;

/// A mean over samples of a validation pass. Batches count by their size, so a short last one does
/// not count too much. One of the two functions must be given; `pred` is (N,classes) f32 and
/// `target` as the batch holds it.
///
/// A metric of one's own is a name and a function that returns a number:
///
///     Metric{"mean", [](Context& ctx, const Tensor& pred, const Tensor& target) { return 1.5; }}
///
/// What it reads of `pred` it brings to the host itself (`to_host`), so each batch waits
/// for the device. One that counts samples by operations of the backend need not: `count`.
struct Metric {
  std::string name;
  /// Sum over the batch's samples.
  std::function<double(Context&, const Tensor& pred, const Tensor& target)> sum = {};
  /// The same of a metric that counts, on the device: adds to `count`, one i64 element there, and
  /// waits for nothing. The host reads it once per pass.
  std::function<void(Context&, const Tensor& pred, const Tensor& target, Tensor& count)> count = {};
};

/// What metrics add up in a pass.
class MetricSums {
 public:
  /// Throws UsageError for a metric with neither function, or with both. `metrics` must outlive it.
  MetricSums(Context& ctx, const std::vector<Metric>& metrics);
  /// Adds a batch. A fault in data that only the device sees is thrown by `means`.
  void add(const Tensor& pred, const Tensor& target);
  /// Means over `samples`, in the order of the metrics; NaN for none. Waits for the device.
  [[nodiscard]] std::vector<double> means(std::int64_t samples) const;

 private:
  Context& ctx_;
  const std::vector<Metric>& metrics_;
  std::vector<double> sums_;
  Tensor counts_;  // i64, one per metric; undefined if none counts
};

/// Targets of these are classes (N) i64 or weights (N,classes) f32, of which the largest is the
/// class. A NaN is never right: see `kernels::count_hits`. A class that the predictions do not have
/// is a DataError.
namespace metrics {
[[nodiscard]] Metric accuracy();
[[nodiscard]] Metric error_rate();
/// Share of samples whose class is among the `k` largest logits. Throws UsageError for k < 1.
[[nodiscard]] Metric top_k(int k);
}  // namespace metrics

}  // namespace learn
