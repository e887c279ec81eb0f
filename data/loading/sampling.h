#pragma once
#include "data/dataset.h"

#include <cstdint>
#include <variant>
#include <vector>

namespace learn::data {

/// Draws samples with replacement, on average in proportion to their weights.
struct WeightedSampling {
  std::vector<double> weights;  ///< one per sample, 0 or more
  std::int64_t samples = 0;     ///< per pass; 0: as many as the set has
};

/// Draws samples with replacement, with equal frequency for each class, whatever its size.
struct BalancedSampling {
  std::int64_t samples = 0;
};

/// The sampling of a pass; std::monostate: each sample once.
using Sampling = std::variant<std::monostate, WeightedSampling, BalancedSampling>;

/// Returns weights for a loss that give each class the same total: for each class, the number of
/// samples over (number of classes times samples of the class), as scikit-learn's "balanced"; for
/// labels, the number of samples without a label over those with it, as for PyTorch's `pos_weight`.
/// Throws UsageError for real targets, DataError for a class without a sample, and for a label that
/// none or all have.
[[nodiscard]] std::vector<float> class_weights(const Dataset& dataset);

/// Chooses the samples of a pass and their order, as a function of set, options, seed and epoch.
class PassOrder {
 public:
  /// Throws UsageError for invalid weights or a wrong number of them, for a negative number of
  /// samples, and for balancing a set without classes.
  PassOrder(const Dataset& dataset, const Sampling& sampling, bool shuffle, std::uint64_t seed);

  /// Returns the number of samples in a pass.
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// Returns how often a pass may contain a sample.
  [[nodiscard]] std::int64_t repeats() const noexcept { return cumulative_.empty() ? 1 : size_; }
  /// Returns the draws of a pass. Sample i is i + n * size of the set at its n-th occurrence, so
  /// that it is augmented differently each time.
  [[nodiscard]] std::vector<std::int64_t> draws(std::int64_t epoch) const;
  [[nodiscard]] std::int64_t sample_of(std::int64_t draw) const noexcept { return draw % samples_; }

 private:
  std::int64_t samples_;  // in the set
  std::int64_t size_;
  bool shuffle_;
  std::uint64_t seed_;
  std::vector<double> cumulative_;  // sums of the weights; empty: each sample once
};

}  // namespace learn::data
