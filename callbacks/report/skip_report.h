#pragma once
#include "framework/learner/callback.h"
#include "framework/learner/history/skip_history.h"

#include <cstdint>

namespace learn::callbacks {

/// Reports whether the steps that were skipped because of non-finite gradients are normal for half
/// precision: in one line when a fit ends, or in a warning if they are not, and in a warning at the
/// end of each epoch with skipped steps in a longer fit. It logs nothing if no step was skipped.
/// With -v each skip and each change of the loss scale has a line, at the end of its epoch. It
/// reads the Recorder, which it needs, and measures nothing.
class SkipReport final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "skip_report"; }
  [[nodiscard]] int order() const override { return order::kReport; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  /// Throws UsageError without a Recorder.
  void train_begin(Learner& learn) override;
  void epoch_begin(Learner& learn) override;
  void epoch_end(Learner& learn) override;
  void train_end(Learner& learn) override;
  /// Reports on a fit that ends because it has diverged, too, as skipped steps may be the reason.
  void error(Learner& learn, const std::exception& error) override;

  /// Results of the last fit.
  [[nodiscard]] const StepVerdict& verdict() const noexcept { return verdict_; }

 private:
  struct Begin {
    StepCounts counts;
    float scale = 1;
  };
  Begin fit_, epoch_;
  std::int64_t told_ = 0;  // the last batch whose records were reported
  StepVerdict verdict_;
};

}  // namespace learn::callbacks
