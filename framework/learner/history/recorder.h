#pragma once
#include "framework/learner/callback.h"
#include "framework/learner/history/batch_history.h"
#include "framework/learner/history/epoch_history.h"
#include "framework/learner/history/skip_history.h"
#include "framework/runtime/device_array.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// Records a training for tables, files and plots, which only read it and do not measure. An
/// interrupted epoch (by a signal or a NaN) has no record.
///
/// Losses, the control block of each batch and the measurements of its step stay on the device
/// until they are read, so on a GPU no batch waits for the host. The history is part of a
/// checkpoint, without values that are still on the device; its size is bounded, see BatchHistory,
/// EpochHistory and SkipHistory.
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
  void error(Learner& learn, const std::exception& error) override;

  /// The training batches since the learner was made, without those that were cancelled before
  /// their update; neighbours are one record when there are many. Waits for the device.
  [[nodiscard]] const std::vector<BatchRecord>& batches(Learner& learn);
  /// Returns them without values that are still on the device. After a fit or after loading a state
  /// it is complete.
  [[nodiscard]] const std::vector<BatchRecord>& batches_read() const noexcept {
    return batches_.records();
  }
  /// Which steps were not made since then, how the loss scale moved, and why. Waits for the device.
  [[nodiscard]] const SkipHistory& steps(Learner& learn);
  /// From now on also appends each batch to `to` when it is read from the device, as long as `to`
  /// has another owner. Unlike in `batches`, neighbours are never merged.
  void share_batches(const std::shared_ptr<std::vector<BatchRecord>>& to) {
    shared_with_.push_back(to);
  }
  /// For callbacks that measure the step of a batch. Call it at that batch's batch_end, before this
  /// callback: norms as one f32 element on the device each, read later. `grad`: of all gradients,
  /// unscaled, before clipping; `update` of the change of the weights, and `weights` of these;
  /// undefined tensors are unknown values.
  void note_norms(const Tensor& grad, const Tensor& update = {}, const Tensor& weights = {});
  /// Means over the batches of the running epoch with a measured update; otherwise NaN. Wait for
  /// the device.
  [[nodiscard]] double mean_grad_norm(Learner& learn);
  [[nodiscard]] double mean_update_ratio(Learner& learn);
  /// The epochs since then; when there are very many, some of them.
  [[nodiscard]] const std::vector<EpochRecord>& epochs() const noexcept {
    return epochs_.records();
  }
  /// How many there were.
  [[nodiscard]] std::int64_t epochs_seen() const noexcept { return epochs_.count(); }
  /// The record of the epoch that is ending, or null if it was interrupted. For handlers of
  /// epoch_end.
  [[nodiscard]] const EpochRecord* finished_epoch() const noexcept {
    return finished_ ? &epochs().back() : nullptr;
  }
  /// Training samples per second of the running epoch so far.
  [[nodiscard]] double samples_per_second() const;

 private:
  using Clock = std::chrono::steady_clock;
  /// On the device, for a batch whose record is pending.
  struct Pending {
    Tensor losses;  // f32
    DeviceArray<StepControl> controls;
    Tensor norms;  // f32: three for each batch, of gradients, update, weights
  };
  /// A mean of finite values.
  struct Mean {
    void add(double value);
    [[nodiscard]] double value() const;
    void visit_state(StateVisitor& visitor, std::string_view name);
    double sum = 0;
    std::int64_t count = 0;
  };
  void keep_on_device(Learner& learn);
  void read_pending(Learner& learn);
  void set_norms(BatchRecord& record,
                 std::span<const float> norms,
                 const std::array<bool, 3>& known);

  double beta_;
  double weighted_sum_ = 0;  // of the smoothed loss
  double weight_ = 0;
  BatchHistory batches_;
  SkipHistory steps_;
  std::vector<std::weak_ptr<std::vector<BatchRecord>>> shared_with_;
  std::vector<BatchRecord> pending_;              // that have not been read from the device
  std::vector<std::array<bool, 3>> known_norms_;  // of each of those
  Pending on_device_;
  std::array<Tensor, 3> norms_;    // noted of the running batch
  Mean grad_norm_, update_ratio_;  // of the running epoch
  EpochHistory epochs_;
  Clock::time_point epoch_begin_, training_end_;
  double cut_seconds_ = 0;  // time of an interrupted epoch, to which the resumed one adds
  std::int64_t samples_ = 0;
  std::int64_t seen_batch_ = 0;  // the last one with an end event
  bool in_training_ = false;
  bool validated_ = false;
  bool finished_ = false;
};

/// Returns the recorder of a learner. Throws UsageError that `user` needs one.
[[nodiscard]] Recorder& recorder_of(const Learner& learn, std::string_view user);

}  // namespace learn
