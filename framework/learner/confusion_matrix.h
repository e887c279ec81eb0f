#pragma once
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace learn {

/// The class that a row of outputs predicts: the place of the largest, the first of equal ones. -1
/// if one of them is NaN, which is never right; `metrics::accuracy` counts the same.
[[nodiscard]] int predicted_class(std::span<const float> outputs) noexcept;

/// How often samples of each class were taken for each class. Ratios of nothing to nothing are 0.
class ConfusionMatrix {
 public:
  /// Adds samples: `pred` (N,classes) f32, `target` (N) i64 or (N,classes) f32, of which the
  /// largest is the class; both on the host. Throws ShapeError, DTypeError or DeviceError unless
  /// they are that and have the classes of those before; DataError for a class that is not in
  /// [0, classes).
  void add(const Tensor& pred, const Tensor& target);

  /// 0 before there are samples.
  [[nodiscard]] int classes() const noexcept { return classes_; }
  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }
  /// Samples of class `truth` that were taken for class `guess`. Both in [0, classes).
  [[nodiscard]] std::int64_t count(int truth, int guess) const;
  /// Samples of the class.
  [[nodiscard]] std::int64_t seen(int truth) const;
  /// Samples that were taken for the class.
  [[nodiscard]] std::int64_t predicted(int guess) const;

  /// Share of the class's samples that were taken for it.
  [[nodiscard]] double recall(int of_class) const;
  /// Share of the samples taken for the class that are of it.
  [[nodiscard]] double precision(int of_class) const;
  /// Harmonic mean of the two.
  [[nodiscard]] double f1(int of_class) const;
  /// The mean of one of them over the classes that were seen or predicted; NaN if there are none.
  [[nodiscard]] double mean(double (ConfusionMatrix::*value)(int) const) const;

 private:
  int classes_ = 0;
  std::int64_t samples_ = 0;
  std::vector<std::int64_t> counts_;  // [truth][guess], and a last column: taken for none
};

}  // namespace learn
