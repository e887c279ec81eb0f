#pragma once
#include "framework/autograd/var.h"
#include "framework/tensor/batch.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace learn {

/// What the learner was asked to do. Files, trackers and bars usually care about `fit` alone.
enum class Activity : std::uint8_t { none, fit, validate, predict };

/// What the loop knows at this moment. Handlers read it; those of x, y (in `batch`), pred, loss and
/// seed may be replaced at the events that say so.
struct TrainState {
  Activity activity = Activity::none;
  std::int64_t epoch = 0;          ///< running epoch, from 0
  std::int64_t epochs = 0;         ///< epochs of the running fit
  std::int64_t batch_in_pass = 0;  ///< running batch of the training or validation pass, from 0
  std::int64_t batches = 0;        ///< batches of the running pass
  bool training = false;           ///< false in a validation pass

  /// Two clocks, never mixed: training batches seen, and updates applied, both since the learner
  /// was made. Skipped and accumulated batches advance only the first, which counts a batch when it
  /// closes, before its batch_end. The second is counted on the device: on the CPU it is always
  /// exact, elsewhere it is as old as the last `Learner::sync_step_clock`.
  std::int64_t batch_clock = 0;
  std::int64_t step_clock = 0;
  /// Epochs closed since the learner was made, without one that the end of the whole training cut
  /// short; counts before epoch_end.
  std::int64_t epoch_clock = 0;
  bool epoch_cut = false;              ///< at epoch_end: that has happened to this epoch
  std::int64_t fit_first_epoch = 0;    ///< `epoch_clock` when the running fit began
  std::int64_t fit_first_batch = 0;    ///< `batch_clock` when it began
  std::int64_t fit_first_step = 0;     ///< `step_clock` when it began
  std::int64_t epoch_first_batch = 0;  ///< `batch_clock` when the epoch that is not closed began
  bool resumed = false;  ///< the running fit is the rest of one that was saved; see Learner::resume
  std::int64_t fit_batches = 0;  ///< training batches the running fit plans
  std::int64_t fit_steps = 0;    ///< updates it plans; fewer than batches when accumulating

  /// Gradients of earlier batches are held: the backward pass of this one adds to them.
  bool gradients_held = false;
  /// The running batch was deferred: its gradients are held for the next one, no step follows.
  bool deferred = false;

  Batch batch;
  Var pred;
  Var loss;     ///< the recorded loss, never scaled
  Tensor seed;  ///< gradient of the loss for the backward pass: one device element, to be replaced,
                ///< not written to; undefined means 1

  /// Means over the samples of the last training and validation pass, of the batches that were not
  /// cancelled; NaN if there were none.
  double train_loss = 0;
  double valid_loss = 0;
  std::vector<std::pair<std::string, double>> metrics;  ///< of the last validation pass
};

}  // namespace learn
