#pragma once
#include "framework/interfaces/state_visitor.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace learn {

/// A training batch, or a few neighbours: see BatchHistory.
struct BatchRecord {
  std::int64_t batch = 0;    ///< training batches seen, the last of these included
  std::int64_t merged = 1;   ///< how many these are
  double epoch = 0;          ///< `batch` in epochs: 1.5 is the middle of the second
  double loss = 0;           ///< never scaled; the mean of those that are finite, if any is
  double lowest_loss = 0;    ///< of the finite ones
  double highest_loss = 0;   ///< the same
  double smooth_loss = 0;    ///< exponential mean of the losses up to the last of these, unbiased
  float lr = 0;              ///< of the last layer group, as the last of these used it
  float momentum = 0;        ///< or beta1
  float loss_scale = 1;      ///< after the last of these
  std::int64_t skipped = 0;  ///< how many of these made no update, as a gradient was not finite
  /// The mean over those of these that made an update and had it measured, NaN if none had: the L2
  /// norm of the gradients, unscaled, before clipping.
  double grad_norm = std::numeric_limits<double>::quiet_NaN();
  /// Norm of the change of all weights, divided by the norm of the weights.
  double update_ratio = std::numeric_limits<double>::quiet_NaN();
};

/// The batches of a training in bounded memory. Each batch has its own record until there are
/// `kCapacity`; then neighbours are merged repeatedly, so that all records represent the same
/// number of batches, except the last, which may represent fewer. The content is a function of the
/// batches alone.
class BatchHistory {
 public:
  /// More than the pixels of a plot; even.
  static constexpr std::size_t kCapacity = 2048;

  /// Takes the record of one batch.
  void add(const BatchRecord& batch);
  [[nodiscard]] const std::vector<BatchRecord>& records() const noexcept { return records_; }
  /// Throws CheckpointError for records that this cannot hold.
  void visit_state(StateVisitor& visitor);

 private:
  std::vector<BatchRecord> records_;
};

}  // namespace learn
