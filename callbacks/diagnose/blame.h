#pragma once
#include "callbacks/diagnose/batch_replay.h"
#include "framework/learner/callback.h"
#include "framework/learner/history/skip_history.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn::callbacks {

/// The explanation of a skipped step.
struct BlameReport {
  StepRecord step;
  Replay replay;  ///< of the skipped batch
  /// Parameters whose gradients were not finite when the step was due.
  std::vector<std::string> parameters;
  double loss = 0;   ///< in training
  std::string text;  ///< the whole explanation, several lines
};

/// Names the layer that caused a step to be skipped because of a non-finite gradient. It reports
/// the first such layer in backward order, whether the forward pass was bad already, all parameters
/// with such gradients, the largest finite values, and whether the loss scale was still settling.
/// For that it runs the batch once more and leaves no trace: a training has the same bits with and
/// without it. It costs nothing until a step is skipped. Needs a Recorder, and a callback that
/// checks gradients, such as MixedPrecision.
///
/// On the CPU it checks after each batch. On a GPU no batch waits for the host: it checks after
/// `kBatchesBetweenLooks` batches and when an epoch ends. By then the skipped batch is no longer
/// available, so it checks after each of at most as many following batches, and explains the next
/// skipped one. It works with a captured step.
class Blame final : public Callback {
 public:
  static constexpr std::int64_t kBatchesBetweenLooks = 128;
  static constexpr std::int64_t kUsualLimit = 5;

  /// Explains at most `limit` steps of each fit. Throws UsageError unless `limit` is positive.
  explicit Blame(std::int64_t limit = kUsualLimit);

  [[nodiscard]] std::string_view name() const override { return "blame"; }
  /// Runs after the Recorder.
  [[nodiscard]] int order() const override { return order::kReport; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  /// Throws UsageError without a Recorder.
  void train_begin(Learner& learn) override;
  void batch_end(Learner& learn) override;
  void epoch_end(Learner& learn) override;
  void train_end(Learner& learn) override;

  /// Results of the last fit.
  [[nodiscard]] const std::vector<BlameReport>& reports() const noexcept { return reports_; }

 private:
  void look(Learner& learn, bool batch_is_at_hand);
  void explain(Learner& learn, const StepRecord& step);

  std::int64_t limit_;
  std::vector<BlameReport> reports_;
  std::int64_t told_ = 0;  // the last batch whose record was read
  std::int64_t batches_since_look_ = 0;
  std::int64_t watched_ = 0;      // batches left to check one by one
  std::int64_t unexplained_ = 0;  // steps in this fit
  bool held_ = false;             // this step includes gradients held from the batch before
  bool held_now_ = false;
};

}  // namespace learn::callbacks
