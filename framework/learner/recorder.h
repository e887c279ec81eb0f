#pragma once
#include "framework/learner/batch_history.h"
#include "framework/learner/callback.h"
#include "framework/learner/epoch_history.h"
#include "framework/tensor/tensor.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// Keeps what happened, for tables, files and plots; those read it and never measure themselves. An
/// epoch that was cut short (an interrupt, a NaN) has no record.
///
/// Losses stay on the device until someone asks for them, so on a GPU no batch waits for the host;
/// the loss scale of such batches is that of the moment they were read. The history is part of a
/// checkpoint, without losses that are still on the device; its size has a bound, see BatchHistory
/// and EpochHistory.
class Recorder final : public Callback {
 public:
  static constexpr double kBeta = 0.98;  ///< fastai's
  /// `beta` of the smoothed loss. Throws UsageError unless it is in [0,1).
  explicit Recorder(double beta = kBeta);

  [[nodiscard]] std::string_view name() const override { return "recorder"; }
  [[nodiscard]] int order() const override { return order::kRecorder; }
  [[nodiscard]] std::vector<std::string> claims() const override { return {"record the training"}; }
  void visit_state(StateVisitor& visitor) override;
  void train_begin(Learner& learn) override;
  void epoch_begin(Learner& learn) override;
  void batch_end(Learner& learn) override;
  void validate_begin(Learner& learn) override;
  void validate_end(Learner& learn) override;
  void epoch_end(Learner& learn) override;
  void train_end(Learner& learn) override;

  /// The training batches since the learner was made, without those that were cancelled before
  /// their update; neighbours are one record when there are many. Waits for the device.
  [[nodiscard]] const std::vector<BatchRecord>& batches(Learner& learn);
  /// The epochs since then; when there are very many, some of them.
  [[nodiscard]] const std::vector<EpochRecord>& epochs() const noexcept {
    return epochs_.records();
  }
  /// How many there were.
  [[nodiscard]] std::int64_t epochs_seen() const noexcept { return epochs_.count(); }
  /// The record of the epoch that is ending, or null if it was cut short. For handlers of
  /// epoch_end.
  [[nodiscard]] const EpochRecord* finished_epoch() const noexcept {
    return finished_ ? &epochs().back() : nullptr;
  }
  /// Training samples per second of the running epoch so far.
  [[nodiscard]] double samples_per_second() const;

 private:
  using Clock = std::chrono::steady_clock;
  void read_losses(Learner& learn);

  double beta_;
  double weighted_sum_ = 0;  // of the smoothed loss
  double weight_ = 0;
  BatchHistory batches_;
  std::vector<BatchRecord> pending_;  // whose losses have not been read from the device
  Tensor pending_losses_;             // f32: those
  EpochHistory epochs_;
  Clock::time_point epoch_begin_, training_end_;
  double cut_seconds_ = 0;  // that an epoch had run when it was cut short; a resumed one adds to it
  std::int64_t samples_ = 0;
  bool in_training_ = false;
  bool validated_ = false;
  bool finished_ = false;
};

/// The recorder of a learner. Throws UsageError that says that `user` needs one.
[[nodiscard]] Recorder& recorder_of(const Learner& learn, std::string_view user);

}  // namespace learn
