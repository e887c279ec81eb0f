#pragma once
#include "framework/interfaces/state_visitor.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace learn {

/// One epoch that ran to its end, validation included.
struct EpochRecord {
  std::int64_t epoch = 0;  ///< from 1, counted since the learner was made
  double train_loss = 0;   ///< true mean over the samples, not the smoothed value
  double valid_loss = 0;   ///< NaN without validation data
  std::vector<std::pair<std::string, double>> metrics;
  float lr = 0;                   ///< of the last layer group, at the last batch
  double seconds = 0;             ///< training and validation
  double samples_per_second = 0;  ///< of the training pass
  std::int64_t skipped = 0;       ///< steps not made, as a gradient was not finite
  float loss_scale = 1;           ///< when it ended
};

/// The epochs of a training in bounded memory: all of them up to `kCapacity`; of more every second,
/// then every fourth, and so on; always the last.
class EpochHistory {
 public:
  static constexpr std::int64_t kCapacity = 1024;

  void add(EpochRecord epoch);
  [[nodiscard]] const std::vector<EpochRecord>& records() const noexcept { return records_; }
  /// Epochs that were added.
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  /// A metric that an epoch did not have comes back as NaN. Throws CheckpointError for records that
  /// this cannot hold.
  void visit_state(StateVisitor& visitor);

 private:
  std::vector<EpochRecord> records_;
  std::int64_t count_ = 0;
};

}  // namespace learn
