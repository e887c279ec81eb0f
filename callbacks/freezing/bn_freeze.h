#pragma once
#include "framework/learner/callback.h"

namespace learn::callbacks {

/// Makes BatchNorm layers with frozen parameters keep their running statistics and normalize with
/// them, as in evaluation (fastai's BnFreeze). Layers with trained parameters are not affected. In
/// a frozen layer group, BatchNorm is trained too unless the group was frozen with `train_bn`
/// false.
///
/// Use it to fine-tune on small batches, or on data that differs from what the body was trained on.
/// Handles train_begin, train_end and error, and nothing inside a batch.
class BnFreeze final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "bn_freeze"; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  /// Warns if no BatchNorm layer is frozen.
  void train_begin(Learner& learn) override;
  void train_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;
};

}  // namespace learn::callbacks
