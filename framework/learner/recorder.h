#pragma once
#include "framework/learner/callback.h"
#include "framework/tensor/tensor.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace learn {

/// One training batch.
struct BatchRecord {
  std::int64_t batch = 0;  ///< training batches seen, this one included
  double epoch = 0;        ///< the same in epochs: 1.5 is the middle of the second
  double loss = 0;         ///< never scaled
  double smooth_loss = 0;  ///< exponential mean of the losses so far, without bias to the start
  float lr = 0;            ///< of the last layer group, as this batch used it
  float momentum = 0;      ///< or beta1
  float loss_scale = 1;
};

/// One epoch that ran to its end, validation included.
struct EpochRecord {
  std::int64_t epoch = 0;  ///< from 1, counted since the learner was made
  double train_loss = 0;   ///< true mean over the samples, not the smoothed value
  double valid_loss = 0;   ///< NaN without validation data
  std::vector<std::pair<std::string, double>> metrics;
  float lr = 0;                   ///< of the last layer group, at the last batch
  double seconds = 0;             ///< training and validation
  double samples_per_second = 0;  ///< of the training pass
};

/// Keeps what happened, for tables, files and plots; those read it and never measure themselves. An
/// epoch that was cut short (an interrupt, a NaN) has no record.
///
/// Losses stay on the device until someone asks for them, so on a GPU no batch waits for the host;
/// the loss scale of such batches is that of the moment they were read. The history is part of a
/// checkpoint, without losses that are still on the device.
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

  /// All training batches since the learner was made. Waits for the device.
  [[nodiscard]] const std::vector<BatchRecord>& batches(Learner& learn);
  [[nodiscard]] const std::vector<EpochRecord>& epochs() const noexcept { return epochs_; }
  /// The record of the epoch that is ending, or null if it was cut short. For handlers of
  /// epoch_end.
  [[nodiscard]] const EpochRecord* finished_epoch() const noexcept {
    return finished_ ? &epochs_.back() : nullptr;
  }
  /// Training samples per second of the running epoch so far.
  [[nodiscard]] double samples_per_second() const;

 private:
  using Clock = std::chrono::steady_clock;
  void read_losses(Learner& learn);

  double beta_;
  double weighted_sum_ = 0;  // of the smoothed loss
  double weight_ = 0;
  std::vector<BatchRecord> batches_;
  std::size_t read_ = 0;  // batches whose loss has been read from the device
  Tensor pending_;        // f32: the losses that were not
  std::vector<EpochRecord> epochs_;
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
