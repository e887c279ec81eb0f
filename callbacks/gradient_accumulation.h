#pragma once
#include "framework/learner/callback.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace learn::callbacks {

/// When to apply an accumulated update. Set exactly one; the other is 0.
struct AccumulateEvery {
  std::int64_t batches = 0;
  std::int64_t samples = 0;  ///< minimum number of samples
};

/// Adds up the gradients of several batches before each update. The result is the update of one big
/// batch of the same samples. Each batch counts by the weight of its loss (`nn::Loss::weight`),
/// usually its number of samples. This also holds for batches of different sizes, for the rest at
/// the end of an epoch, and under mixed precision (half gradients are added in f32; one overflow
/// skips the whole update). BatchNorm normalizes each batch separately, as usual.
///
/// The batches before the last of a window have no step events.
class GradientAccumulation final : public Callback {
 public:
  /// Throws UsageError unless exactly one count is given and it is positive.
  explicit GradientAccumulation(const AccumulateEvery& every);

  [[nodiscard]] std::string_view name() const override { return "gradient_accumulation"; }
  [[nodiscard]] int order() const override { return order::kGradientAccumulation; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  void train_begin(Learner& learn) override;
  void backward_begin(Learner& learn) override;

 private:
  AccumulateEvery every_;
  std::int64_t window_batches_ = 0;
  std::int64_t window_samples_ = 0;
};

}  // namespace learn::callbacks
