#pragma once
#include "framework/learner/callback.h"

#include <cstdint>

namespace learn::callbacks {

/// Ends the training when a batch's loss is infinite or NaN, before its backward pass: nothing of
/// that batch reaches the weights or the running statistics. Reads the loss at each training batch,
/// which waits for the device.
class TerminateOnNan final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "terminate_on_nan"; }
  void train_begin(Learner& learn) override;
  void backward_begin(Learner& learn) override;
  /// True if it ended the last fit.
  [[nodiscard]] bool terminated() const noexcept { return terminated_; }

 private:
  bool terminated_ = false;
};

}  // namespace learn::callbacks
