#pragma once
#include "framework/core/error.h"
#include "framework/interfaces/state_visitor.h"

#include <cstdint>
#include <utility>

namespace learn::data {

/// The position of a source in its passes, as stored in checkpoints.
struct PassPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  ///< batches handed out
  bool resumes = false;    ///< the next pass starts at `batch`, if it is for this epoch

  /// Returns the batch at which a new pass starts.
  [[nodiscard]] std::int64_t first_batch(std::int64_t new_epoch) {
    return std::exchange(resumes, false) && new_epoch == epoch ? batch : 0;
  }
  /// Throws CheckpointError for a position beyond a pass of `batches`.
  void visit_state(StateVisitor& visitor, std::int64_t batches) {
    std::int64_t saved_batches = batches;
    visitor.visit("epoch", epoch, {});
    visitor.visit("batch", batch, {});
    visitor.visit("batches", saved_batches, {});
    if (!visitor.loading()) return;
    resumes = batch > 0 && batch < saved_batches;
    if (batch > saved_batches || (resumes && saved_batches != batches))
      fail<CheckpointError>(
          "the checkpoint was made at batch {} of {} in a pass; this loader's passes have {}: "
          "resume with the same data and batch size",
          batch,
          saved_batches,
          batches);
  }
};

}  // namespace learn::data
