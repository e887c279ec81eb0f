#pragma once
#include "framework/learner/callback.h"

namespace learn::callbacks {

/// BatchNorm layers whose parameters are frozen keep their running statistics, and normalise by
/// them, as in evaluation: fastai's BnFreeze. Layers with trained parameters are unaffected; that
/// includes BatchNorm in frozen layer groups, unless they were frozen with `train_bn` false.
///
/// Fine-tuning on small batches, or on other data than the body was trained on, is the place for
/// it. Uses train_begin, train_end and error, and nothing inside a batch.
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
