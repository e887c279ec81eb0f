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
  std::filesystem::path folder;  ///< is made if it is missing
  bool last = true;  ///< last.safetensors: everything a resumed run needs, at each epoch
  bool best = true;  ///< best.safetensors: the weights of the best epoch, as validated
  std::int64_t every =
      0;  ///< epoch-0005.safetensors: the full state, every `every` epochs; 0: never
  std::string monitor = "valid_loss";
  Better better = Better::automatic;
  double min_delta = 0;
  Metadata metadata;  ///< metadata of each file, in addition to epoch and step
};

/// Writes checkpoints at the end of epochs, each file as a whole or not at all, `last` with the one
/// before it as last.prev.safetensors. When training is cut short in the middle of an epoch, `last`
/// is written at the end of that part. Nothing is written once TerminateOnNan has ended the
/// training: `last` stays the state before. An epoch whose validation loss is not finite is never
/// the best. Needs a Recorder.
class Checkpointer final : public Callback {
 public:
  explicit Checkpointer(CheckpointerOptions options);

  [[nodiscard]] std::string_view name() const override { return "checkpointer"; }
  /// After all trackers, so that what they decided is part of the checkpoint.
  [[nodiscard]] int order() const override { return order::kTracker + 10; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  void visit_state(StateVisitor& visitor) override;
  /// Throws UsageError if the learner will not have the monitored value or has no Recorder.
  void train_begin(Learner& learn) override;
  void epoch_end(Learner& learn) override;
  void train_end(Learner& learn) override;

  /// Writes `last` now and returns its path. From train_begin, or from batch_end unless gradients
  /// are held.
  std::filesystem::path save_last(Learner& learn);
  [[nodiscard]] bool saves_last() const noexcept { return options_.last; }
  /// Epoch (from 1) of the best value so far; 0 before there is one.
  [[nodiscard]] std::int64_t best_epoch() const noexcept { return best_epoch_; }
  [[nodiscard]] const Monitor& monitor() const noexcept { return monitor_; }
  [[nodiscard]] std::filesystem::path path(const std::string& file) const {
    return options_.folder / (file + ".safetensors");
  }

 private:
  [[nodiscard]] static bool diverged(const Learner& learn);
  [[nodiscard]] Metadata metadata(const Learner& learn) const;
  void save_best(Learner& learn);
  void save_rest(Learner& learn);  // `last`, unless it has the last batch
  void save_state_as(Learner& learn, const std::string& file, const std::string& previous = {});

  CheckpointerOptions options_;
  Monitor monitor_;
  std::int64_t best_epoch_ = 0;
  std::int64_t saved_batch_ = -1;  // batch clock of the last `last`
};

}  // namespace learn::callbacks
