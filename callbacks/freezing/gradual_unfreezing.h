#pragma once
#include "framework/learner/callback.h"

#include <cstdint>

namespace learn::callbacks {

struct GradualUnfreezingOptions {
  std::int64_t frozen = 1;  ///< epochs in which the last layer group alone is trained
  /// After them: the epochs for each further layer group, from the last to the first; 0: all groups
  /// at once.
  std::int64_t every = 0;
  bool train_bn = true;  ///< BatchNorm's weights and biases are trained in frozen groups, too
};

/// Trains the last layer group first, and the others later: all at once, as fastai's fine_tune, or
/// one after the other (Howard & Ruder, "Universal language model fine-tuning for text
/// classification", 2018). Epochs are counted from the start of the fit, so a resumed one continues
/// with the same groups. A fit that ends earlier leaves the other groups frozen.
class GradualUnfreezing final : public Callback {
 public:
  /// Throws UsageError for a number that is negative.
  explicit GradualUnfreezing(const GradualUnfreezingOptions& options = {});

  [[nodiscard]] std::string_view name() const override { return "gradual_unfreezing"; }
  /// Before callbacks that freeze single parameters.
  [[nodiscard]] int order() const override { return order::kDefault - 2; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] bool runs_in_sandbox() const override { return false; }
  [[nodiscard]] std::vector<std::string> claims() const override { return {"freeze layer groups"}; }
  /// Throws UsageError if parameters are frozen.
  void attached(Learner& learn) override;
  /// Throws UsageError for a model of one layer group.
  void train_begin(Learner& learn) override;
  void epoch_begin(Learner& learn) override;

  /// The first layer group that is trained in an epoch.
  [[nodiscard]] int first_trained(std::int64_t epoch, int layer_groups) const;

 private:
  void freeze(Learner& learn) const;

  GradualUnfreezingOptions options_;
};

}  // namespace learn::callbacks
