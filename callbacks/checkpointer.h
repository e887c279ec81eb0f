#pragma once
#include "framework/io/safetensors.h"
#include "framework/learner/callback.h"
#include "framework/learner/history/monitor.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace learn::callbacks {

struct CheckpointerOptions {
  std::filesystem::path folder;  ///< created if missing
  bool last = true;  ///< last.safetensors: everything a resumed run needs, at each epoch
  bool best = true;  ///< best.safetensors: the weights of the best epoch, as validated
  std::int64_t every =
      0;  ///< epoch-0005.safetensors: the full state, every this many epochs; 0: never
  std::string monitor = "valid_loss";
  Better better = Better::automatic;
  double min_delta = 0;
  Metadata metadata;  ///< written to each file, along with the epoch and the step
};

/// Writes checkpoints at the end of epochs. Each file is written completely or not at all; the
/// previous `last` is kept as last.prev.safetensors. When training is cut short in the middle of an
/// epoch, `last` is written at that point. After TerminateOnNan has ended the training nothing is
/// written, so `last` keeps the earlier state. An epoch whose validation loss is not finite is
/// never the best. Needs a Recorder.
class Checkpointer final : public Callback {
 public:
  explicit Checkpointer(CheckpointerOptions options);

  [[nodiscard]] std::string_view name() const override { return "checkpointer"; }
  /// Runs after all trackers, so that the checkpoint includes their decisions.
  [[nodiscard]] int order() const override { return order::kTracker + 10; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  void visit_state(StateVisitor& visitor) override;
  /// Throws UsageError if the learner does not produce the monitored value or has no Recorder.
  void train_begin(Learner& learn) override;
  void epoch_end(Learner& learn) override;
  void train_end(Learner& learn) override;

  /// Writes `last` now and returns its path. Call it from train_begin, or from batch_end unless
  /// gradients are held.
  std::filesystem::path save_last(Learner& learn);
  [[nodiscard]] bool saves_last() const noexcept { return options_.last; }
  /// Returns the epoch (from 1) of the best value so far, 0 before the first value.
  [[nodiscard]] std::int64_t best_epoch() const noexcept { return best_epoch_; }
  [[nodiscard]] const Monitor& monitor() const noexcept { return monitor_; }
  [[nodiscard]] std::filesystem::path path(const std::string& file) const {
    return options_.folder / (file + ".safetensors");
  }

 private:
  [[nodiscard]] static bool diverged(const Learner& learn);
  [[nodiscard]] Metadata metadata(const Learner& learn) const;
  void save_best(Learner& learn);
  void save_rest(Learner& learn);  // writes `last` unless it already includes the last batch
  void save_state_as(Learner& learn, const std::string& file, const std::string& previous = {});

  CheckpointerOptions options_;
  Monitor monitor_;
  std::int64_t best_epoch_ = 0;
  std::int64_t saved_batch_ = -1;  // batch clock at which `last` was last written
};

}  // namespace learn::callbacks
