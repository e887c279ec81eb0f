#include "framework/learner/fit_progress.h"

#include "framework/core/error.h"

namespace learn {

void FitProgress::begin_fit(std::int64_t passes, std::int64_t batches_per_epoch) {
  resumed = false;
  epoch = 0;
  epochs = passes;
  fit_first_epoch = epoch_clock;
  fit_first_batch = epoch_first_batch = batch_clock;
  fit_first_step = step_clock;
  fit_batches = fit_steps = passes * batches_per_epoch;
}

void FitProgress::resume_fit(std::int64_t passes, std::int64_t batches_per_epoch) {
  const std::int64_t planned = passes * batches_per_epoch;
  check<UsageError>(passes == epochs && planned == fit_batches,
                    "fit: the training to resume has {} epochs, {} batches, but this one has {} "
                    "epochs, {} batches",
                    epochs,
                    fit_batches,
                    passes,
                    planned);
  resumed = true;
  epoch = epoch_clock - fit_first_epoch;
  fit_steps = planned;
}

void FitProgress::begin_pass(bool trains, std::int64_t count) {
  training = trains;
  batches = count;
  batch_in_pass = pass_first_batch = trains ? batch_clock - epoch_first_batch : 0;
}

void FitProgress::finish_epoch(bool cut) {
  epoch_cut = cut;
  if (cut) return;
  ++epoch_clock;
  epoch_first_batch = batch_clock;
}

void FitProgress::visit_state(StateVisitor& visitor) {
  {
    const StateVisitor::Scope clocks(visitor, "clocks");
    visitor.visit("batch", batch_clock, {});
    visitor.visit("epoch", epoch_clock, {});
  }
  const StateVisitor::Scope fit(visitor, "fit");
  visitor.visit("epochs", epochs, {});
  visitor.visit("batches", fit_batches, {});
  visitor.visit("first_epoch", fit_first_epoch, {.high = epoch_clock});
  visitor.visit("first_batch", fit_first_batch, {.high = batch_clock});
  visitor.visit("first_step", fit_first_step, {});
  visitor.visit(
      "epoch_first_batch", epoch_first_batch, {.low = fit_first_batch, .high = batch_clock});
  if (visitor.loading()) check_plan();
}

/// Checks that the clocks belong to a fit of these epochs and batches.
void FitProgress::check_plan() const {
  const std::int64_t closed = epoch_clock - fit_first_epoch;
  const std::int64_t each = epochs > 0 ? fit_batches / epochs : 0;  // batches of an epoch
  const std::int64_t in_closed = epoch_first_batch - fit_first_batch;
  const std::int64_t in_open = batch_clock - epoch_first_batch;
  // An epoch may have ended before its last batch.
  const bool fits = each * epochs == fit_batches && closed <= epochs &&
                    (each == 0 ? in_closed == 0 : (in_closed + each - 1) / each <= closed) &&
                    in_open <= (closed < epochs ? each : 0);
  if (!fits)
    fail<CheckpointError>(
        "the checkpoint's counters contradict each other: {} batches in {} finished epochs and {} "
        "in the next, of a fit of {} batches in {} epochs",
        in_closed,
        closed,
        in_open,
        fit_batches,
        epochs);
}

}  // namespace learn
