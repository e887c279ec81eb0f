#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/learner/callback.h"
#include "framework/runtime/device_array.h"

#include <cstdint>
#include <string>

namespace learn::callbacks {

/// Ends the training when the loss of a batch or of a validation pass is infinite or NaN. Nothing
/// of that batch reaches the weights or the running statistics; an epoch with such a validation
/// loss counts as cut short. A Checkpointer then keeps the state it had saved before.
///
/// On the CPU the training ends before that batch's backward pass. On a GPU no batch waits for the
/// host: the device itself skips the step of such a batch, and the training ends at the host's next
/// check, after `kBatchesBetweenLooks` batches or at the end of the training pass.
class TerminateOnNan final : public Callback {
 public:
  static constexpr std::int64_t kBatchesBetweenLooks = 128;

  [[nodiscard]] std::string_view name() const override { return "terminate_on_nan"; }
  [[nodiscard]] bool runs_in_sandbox() const override { return false; }
  [[nodiscard]] bool capturable() const override { return true; }
  void train_begin(Learner& learn) override;
  void backward_begin(Learner& learn) override;
  void backward_end(Learner& learn) override;
  void batch_end(Learner& learn) override;
  void validate_begin(Learner& learn) override;
  void validate_end(Learner& learn) override;
  void epoch_end(Learner& learn) override;
  /// Returns whether it ended the last fit.
  [[nodiscard]] bool terminated() const noexcept { return !why_.empty(); }
  /// Returns which loss was not finite and, as far as it can be found, the cause in the model or
  /// the batch; empty unless `terminated`.
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

 private:
  void look(Learner& learn);
  void look_at_loss(Learner& learn);
  void terminate(Learner& learn, const std::string& why);

  std::string why_;
  DeviceArray<StepControl> seen_;  // its found_inf stays set once a loss was not finite
  std::int64_t batches_since_look_ = 0;
};

}  // namespace learn::callbacks
