#pragma once
#include "framework/learner/callback.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace learn::callbacks {

/// When an accumulated update is made. Exactly one is given; the other is 0.
struct AccumulateEvery {
  std::int64_t batches = 0;
  std::int64_t samples = 0;  ///< minimum number of samples
};

/// Adds up the gradients of several batches before each update. The update is that of one big batch
/// of the same samples: each batch counts by the weight of its loss (`nn::Loss::weight`), usually
/// its number of samples, also when batches differ in size, in the rest at the end of an epoch, and
/// under mixed precision (half gradients are added in f32; one overflow skips the whole update).
/// BatchNorm sees each batch on its own, as everywhere.
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
  void backward_end(Learner& learn) override;

 private:
  /// A batch's weight over that of the window's first one; undefined where it is 1.
  [[nodiscard]] Tensor ratio_to_first(Learner& learn);
  [[nodiscard]] Tensor weighted_ratio(Learner& learn, const Tensor& weight);

  AccumulateEvery every_;
  std::int64_t window_batches_ = 0;
  std::int64_t window_samples_ = 0;
  std::int64_t reference_ = 0;  // samples of the window's first batch: the weight 1
  // The same on the device, for losses with weights: (1) f32 each.
  Tensor first_weight_, sum_of_weights_;
};

}  // namespace learn::callbacks
