#pragma once
#include "framework/interfaces/state_visitor.h"

#include <cstdint>

namespace learn {

/// The learner's current activity. Files, trackers and bars usually react only to `fit`.
enum class Activity : std::uint8_t { none, fit, validate, predict };

/// Progress of the loop: counters, position and plan. Only the learner writes it.
struct FitProgress {
  Activity activity = Activity::none;
  std::int64_t epoch = 0;          ///< running epoch, from 0
  std::int64_t epochs = 0;         ///< epochs of the running fit
  std::int64_t batch_in_pass = 0;  ///< running batch of the training or validation pass, from 0
  std::int64_t batches = 0;        ///< batches of the running pass
  /// `batch_in_pass` at the start of the current pass: not 0 if it is the rest of a saved one.
  std::int64_t pass_first_batch = 0;
  /// `StepControl::skipped` at the start of the training pass.
  std::int64_t pass_first_skipped = 0;
  bool training = false;  ///< from the first batch_begin of a training pass to its end

  /// Two counters: training batches, and updates applied, both since the learner was created.
  /// Skipped and accumulated batches advance only the first, which counts a batch when it ends,
  /// before its batch_end. The second is counted on the device: on the CPU it is always exact,
  /// elsewhere it is as old as the last `Learner::sync_step_clock`.
  std::int64_t batch_clock = 0;
  std::int64_t step_clock = 0;
  /// Epochs finished since the learner was created, without one that the end of the whole training
  /// interrupted; incremented before epoch_end.
  std::int64_t epoch_clock = 0;
  bool epoch_cut = false;              ///< at epoch_end: that has happened to this epoch
  std::int64_t fit_first_epoch = 0;    ///< `epoch_clock` at the start of the current fit
  std::int64_t fit_first_batch = 0;    ///< `batch_clock` at its start
  std::int64_t fit_first_step = 0;     ///< `step_clock` at its start
  std::int64_t epoch_first_batch = 0;  ///< `batch_clock` at the start of the open epoch
  bool resumed = false;  ///< the running fit is the rest of one that was saved; see Learner::resume
  std::int64_t fit_batches = 0;  ///< training batches the running fit plans
  std::int64_t fit_steps = 0;    ///< updates it plans; fewer than batches when accumulating

  /// Gradients of earlier batches are held: the backward pass of the next one adds to them.
  bool gradients_held = false;

  /// Starts a fit of `passes` with `batches_per_epoch` batches each at these clocks.
  void begin_fit(std::int64_t passes, std::int64_t batches_per_epoch);
  /// The fit that the clocks were loaded in the middle of continues. Throws UsageError unless it
  /// planned the same.
  void resume_fit(std::int64_t passes, std::int64_t batches_per_epoch);
  /// Starts a pass of `count` batches. A training pass starts at the clocks' position in its epoch.
  void begin_pass(bool trains, std::int64_t count);
  /// The epoch closes; `cut`: by the end of the whole training.
  void finish_epoch(bool cut);
  /// Clocks (without the device's) and plan. Throws CheckpointError for what no training leaves.
  void visit_state(StateVisitor& visitor);

 private:
  void check_plan() const;
};

}  // namespace learn
