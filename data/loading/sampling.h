#pragma once
#include "data/dataset.h"

#include <cstdint>
#include <variant>
#include <vector>

namespace learn::data {

/// A pass of samples drawn with replacement, each with an expected frequency proportional to its
/// weight.
struct WeightedSampling {
  std::vector<double> weights;  ///< one per sample, 0 or more
  std::int64_t samples = 0;     ///< in a pass; 0: as many as the set has
};

/// A pass with all classes equally often, whatever their number of samples.
struct BalancedSampling {
  std::int64_t samples = 0;
};

/// Which samples a pass is made of; std::monostate: each of them once.
using Sampling = std::variant<std::monostate, WeightedSampling, BalancedSampling>;

/// For a loss that weighs classes, so that each has the same share in it: of each class, the number
/// of samples over (number of classes times those of the class), as scikit-learn's "balanced"; of
/// several labels, the number of samples without a label over those that have it, as for PyTorch's
/// `pos_weight`. Throws UsageError for real targets, DataError for a class without a sample, and
/// for a label that none or all have.
[[nodiscard]] std::vector<float> class_weights(const Dataset& dataset);

/// Which samples a pass has, in which order: a function of set, options, seed and epoch.
class PassOrder {
 public:
  /// Throws UsageError for weights that do not match the samples, for a negative number of samples,
  /// and for balancing a set without classes.
  PassOrder(const Dataset& dataset, const Sampling& sampling, bool shuffle, std::uint64_t seed);

  /// Samples in a pass.
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// How often a pass may have one sample.
  [[nodiscard]] std::int64_t repeats() const noexcept { return cumulative_.empty() ? 1 : size_; }
  /// The draws of a pass: sample i, where it comes for the n-th time, is i + n * size of the set,
  /// so that each time it is augmented in another way.
  [[nodiscard]] std::vector<std::int64_t> draws(std::int64_t epoch) const;
  [[nodiscard]] std::int64_t sample_of(std::int64_t draw) const noexcept { return draw % samples_; }

 private:
  std::int64_t samples_;  // of the set
  std::int64_t size_;
  bool shuffle_;
  std::uint64_t seed_;
  std::vector<double> cumulative_;  // weights; empty: each sample once
};

}  // namespace learn::data
