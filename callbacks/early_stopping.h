#pragma once
#include "framework/learner/callback.h"
#include "framework/learner/history/monitor.h"

#include <cstdint>
#include <string>

namespace learn::callbacks {

struct EarlyStoppingOptions {
  std::string monitor = "valid_loss";
  double min_delta = 0;
  std::int64_t patience = 1;
  Better better = Better::automatic;
};

/// Ends the training when a value has not improved for `patience` epochs in a row (as in fastai 2:
/// with patience 1, at the first epoch that is not better than the best so far by more than
/// `min_delta`). An epoch without the value, or with NaN, counts as no improvement. Each fit starts
/// counting again, unless it is resumed.
class EarlyStopping final : public Callback {
 public:
  /// Throws UsageError for a patience below 1 or an invalid `min_delta`.
  explicit EarlyStopping(const EarlyStoppingOptions& options = {});

  [[nodiscard]] std::string_view name() const override { return "early_stopping"; }
  [[nodiscard]] int order() const override { return order::kTracker; }
  void visit_state(StateVisitor& visitor) override;
  /// Throws UsageError if the learner does not produce the monitored value.
  void train_begin(Learner& learn) override;
  void epoch_end(Learner& learn) override;

  /// Number of epochs in a row without improvement.
  [[nodiscard]] std::int64_t waited() const noexcept { return waited_; }

 private:
  Monitor monitor_;
  std::int64_t patience_;
  std::int64_t waited_ = 0;
};

}  // namespace learn::callbacks
