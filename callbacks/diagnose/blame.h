#pragma once
#include "callbacks/diagnose/batch_replay.h"
#include "framework/learner/callback.h"
#include "framework/learner/history/skip_history.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn::callbacks {

/// Why a step was skipped.
struct BlameReport {
  StepRecord step;
  Replay replay;  ///< of its batch
  /// Its parameters whose gradients were not finite when the step was due.
  std::vector<std::string> parameters;
  double loss = 0;   ///< that the training had
  std::string text;  ///< all of it in words, several lines
};

/// Names the layer behind a step that was skipped as a gradient was not finite: the first in the
/// order of the backward pass, whether the forward pass was bad already, all parameters with such
/// gradients, the largest finite values, and whether the loss scale was only finding its place. It
/// runs the batch once more for that and leaves no trace: a training has the same bits with and
/// without it. While all goes well it costs nothing. Needs a Recorder, and somebody who looks for
/// such gradients: MixedPrecision.
///
/// On the CPU it looks after each batch. On a GPU no batch waits for the host: it looks after
/// `kBatchesBetweenLooks` batches and when an epoch ends. The batch it then hears of is gone; so it
/// waits for the next one that is skipped, and looks after each batch, for as many batches at most.
/// It works beside a captured step.
class Blame final : public Callback {
 public:
  static constexpr std::int64_t kBatchesBetweenLooks = 128;
  static constexpr std::int64_t kUsualLimit = 5;

  /// Explains at most `limit` steps of each fit. Throws UsageError unless that is positive.
  explicit Blame(std::int64_t limit = kUsualLimit);

  [[nodiscard]] std::string_view name() const override { return "blame"; }
  /// After the Recorder.
  [[nodiscard]] int order() const override { return order::kReport; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  /// Throws UsageError without a Recorder.
  void train_begin(Learner& learn) override;
  void batch_end(Learner& learn) override;
  void epoch_end(Learner& learn) override;
  void train_end(Learner& learn) override;

  /// Reports of the last fit.
  [[nodiscard]] const std::vector<BlameReport>& reports() const noexcept { return reports_; }

 private:
  void look(Learner& learn, bool batch_is_at_hand);
  void explain(Learner& learn, const StepRecord& step);

  std::int64_t limit_;
  std::vector<BlameReport> reports_;
  std::int64_t told_ = 0;  // the last batch whose record was read
  std::int64_t batches_since_look_ = 0;
  std::int64_t watched_ = 0;      // batches to look at one by one
  std::int64_t unexplained_ = 0;  // steps of this fit
  bool held_ = false;             // the gradients of the batch before are in this step, too
  bool held_now_ = false;
};

}  // namespace learn::callbacks
