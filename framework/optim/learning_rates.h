#pragma once
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace learn::optim {

/// Learning rates for the layer groups of a model: one for all (`0.1`), a `range` from the first
/// group to the last, or a list with one per group (`{1e-4, 1e-3, 1e-2}`).
class LearningRates {
 public:
  /// One for all groups.
  LearningRates(double rate) : kind_(Kind::one), rates_{rate} {}  // not explicit: a number is one
  /// One for each group.
  LearningRates(std::initializer_list<double> rates) : kind_(Kind::list), rates_(rates) {}
  explicit LearningRates(std::vector<double> rates) : kind_(Kind::list), rates_(std::move(rates)) {}

  /// The rates of `groups` layer groups. Throws UsageError for a rate that is negative or not
  /// finite, a range that is not above 0, or a list of another length.
  [[nodiscard]] std::vector<float> spread(int groups) const;

 private:
  enum class Kind : std::uint8_t { one, range, last, list };
  friend LearningRates range(double first, double last);
  friend LearningRates last_group(double rate);
  LearningRates(Kind kind, std::vector<double> rates) : kind_(kind), rates_(std::move(rates)) {}

  Kind kind_;
  std::vector<double> rates_;
};

/// Equal ratios from the first layer group to the last: fastai's slice(first, last). A single group
/// takes the last.
[[nodiscard]] LearningRates range(double first, double last);
/// The last layer group at `rate`, all earlier ones at a tenth of it: fastai's slice(rate).
[[nodiscard]] LearningRates last_group(double rate);

}  // namespace learn::optim
