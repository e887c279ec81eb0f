#pragma once
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace learn {

/// The class that a row of outputs predicts: the place of the largest, the first of equal ones. -1
/// if one of them is NaN, which is never right; `metrics::accuracy` counts the same.
[[nodiscard]] int predicted_class(std::span<const float> outputs) noexcept;

/// Samples of one class that were predicted as another.
struct Confusion {
  int truth = 0;
  int guess = 0;
  std::int64_t count = 0;
};

/// Counts of predicted classes for the samples of each class. Ratios of nothing to nothing are 0.
class ConfusionMatrix {
 public:
  /// Adds samples: `pred` (N,classes) f32, `target` (N) i64 or (N,classes) f32, of which the
  /// largest is the class; both on the host. Throws ShapeError, DTypeError or DeviceError unless
  /// they are that and have the classes of those before; DataError for a class that is not in
  /// [0, classes).
  void add(const Tensor& pred, const Tensor& target);

  /// Adds samples with their true and predicted classes, -1 for no prediction. Throws ShapeError
  /// unless there are as many of both and `classes` is the number of those before; DataError for a
  /// class that is not in [0, classes).
  void add(std::int64_t classes,
           std::span<const std::int64_t> truths,
           std::span<const std::int64_t> guesses);

  /// 0 before there are samples.
  [[nodiscard]] int classes() const noexcept { return classes_; }
  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }
  /// Samples of class `truth` that were predicted as class `guess`. Both in [0, classes).
  [[nodiscard]] std::int64_t count(int truth, int guess) const;
  /// Samples of the class.
  [[nodiscard]] std::int64_t seen(int truth) const;
  /// Samples that were predicted as the class.
  [[nodiscard]] std::int64_t predicted(int guess) const;

  /// Share of the class's samples that were predicted as it.
  [[nodiscard]] double recall(int of_class) const;
  /// Share of the samples predicted as the class that belong to it.
  [[nodiscard]] double precision(int of_class) const;
  /// Harmonic mean of the two.
  [[nodiscard]] double f1(int of_class) const;
  /// Share of all samples that were predicted correctly; NaN without samples.
  [[nodiscard]] double accuracy() const;
  /// How much of the agreement is not chance (Cohen 1960; scikit-learn's cohen_kappa_score). NaN
  /// where chance agrees always: one class, predicted throughout.
  [[nodiscard]] double kappa() const;
  /// Matthews' correlation coefficient for any number of classes (Gorodkin 2004; scikit-learn's
  /// matthews_corrcoef): in [-1, 1], 0 where truth or prediction is one class throughout; NaN
  /// without samples.
  [[nodiscard]] double matthews() const;
  /// Pairs of different classes, one of which was predicted as the other at least `least` times,
  /// the most frequent first, then in the order of the classes (fastai's most_confused).
  [[nodiscard]] std::vector<Confusion> most_confused(std::int64_t least = 1) const;
  /// The mean of one of them over the classes that occur or are predicted; NaN without such
  /// classes.
  [[nodiscard]] double mean(double (ConfusionMatrix::*value)(int) const) const;
  /// The mean of one of them over the classes, weighted by their samples; NaN without samples.
  [[nodiscard]] double weighted_mean(double (ConfusionMatrix::*value)(int) const) const;

 private:
  struct Sums {
    double right = 0, all = 0;                   ///< samples
    double chance = 0, truths = 0, guesses = 0;  ///< of products over the classes
  };
  [[nodiscard]] Sums sums() const;

  int classes_ = 0;
  std::int64_t samples_ = 0;
  std::vector<std::int64_t> counts_;  // [truth][guess], and a last column: no prediction
};

}  // namespace learn
