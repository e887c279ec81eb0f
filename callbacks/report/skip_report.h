#pragma once
#include "framework/learner/callback.h"
#include "framework/learner/history/skip_history.h"

#include <cstdint>

namespace learn::callbacks {

/// Says whether the steps that were skipped, as a gradient was not finite, are what healthy
/// trainings in half precision have: in one line when a fit ends, a warning if they are not; and in
/// a warning at the end of each epoch of a longer fit that had such. Says nothing where no step was
/// skipped. With -v each skip and each move of the loss scale has a line, when its epoch ends.
/// Reads the Recorder, which it needs, and measures nothing.
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
  /// A fit that ends as it has diverged may end because of skips: of that, too, it tells.
  void error(Learner& learn, const std::exception& error) override;

  /// The verdict on the last fit.
  [[nodiscard]] const StepVerdict& verdict() const noexcept { return verdict_; }

 private:
  struct Begin {
    StepCounts counts;
    float scale = 1;
  };
  Begin fit_, epoch_;
  std::int64_t told_ = 0;  // the last batch whose records were told
  StepVerdict verdict_;
};

}  // namespace learn::callbacks
