#pragma once
#include "callbacks/registry.h"
#include "callbacks/report/kept_samples.h"
#include "framework/learner/callback.h"
#include "framework/learner/history/recorder.h"
#include "framework/tensorboard/event_file.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace learn::callbacks {

struct TensorBoardOptions {
  std::filesystem::path path = "tensorboard";  ///< the folder of the event files
  std::int64_t every = 1;                      ///< batches between two points; 0: epochs only
  std::int64_t histograms = 1;                 ///< epochs between two histograms; 0: none
  std::int64_t images = 16;                    ///< of training and of validation; 0: none
  DrawSamples draw;                            ///< images need it
  std::string config;                          ///< shown as text; empty: none
};

/// Writes a training for TensorBoard: `tensorboard --logdir FOLDER`. The step of all that it shows
/// is the number of training batches seen, over resumed runs too.
///
///   train/loss, smooth_loss, lr, momentum, loss_scale, skipped    of a batch (BatchRecord);
///         grad_norm, update_ratio                                 where they were measured
///   epoch/train_loss, valid_loss, metrics, lr, skipped,           at the end of an epoch
///         loss_scale, seconds, samples_per_second                 (EpochRecord)
///   weights/NAME       histogram of a parameter, of its f32 master if it is half in the model
///   gradients/NAME     of its gradient in the last step of the epoch, unscaled, clipped by value
///   if
///                      it is, not by norm; none if the last batch took no step
///   not_finite/weights, gradients    how many values are infinite or NaN; histograms leave them
///                      out, and not_finite/weights/NAME says where they are
///   images/training, validation      samples as the model was given them, with their classes and
///                      what it predicted: the first ones of the epoch, in training mode; and the
///                      same ones of each whole validation, from all over it. Both passes make
///                      these predictions anyway: nothing is computed twice
///   config             text
///
/// Points of batches are written when they have come from the device, every ten seconds if there
/// are any, and at the end of an epoch, so that no batch waits; captured steps stay so, as nothing
/// happens inside of them. What is written is on the disk. A training with it has the bits of one
/// without it. In a sandbox it takes no part.
///
/// The first fit puts event files that lie in the folder into `former-1` in it; further fits of the
/// same learner add to the file. After a state of another batch was loaded a new file follows, and
/// TensorBoard shows each step once, see EventFile. Needs a Recorder.
class TensorBoard final : public Callback {
 public:
  /// Throws UsageError if a number is negative.
  explicit TensorBoard(TensorBoardOptions options = {});

  [[nodiscard]] std::string_view name() const override { return "tensorboard"; }
  [[nodiscard]] int order() const override { return order::kReport; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  void visit_state(StateVisitor& visitor) override;
  /// Throws IoError if the file cannot be made, UsageError without a Recorder.
  void train_begin(Learner& learn) override;
  void epoch_begin(Learner& learn) override;
  void batch_end(Learner& learn) override;
  void validate_begin(Learner& learn) override;
  void epoch_end(Learner& learn) override;
  void train_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

 private:
  using Clock = std::chrono::steady_clock;

  void write_batches();
  void write_epoch(Learner& learn, const EpochRecord& epoch);
  void write_histograms(Learner& learn);
  void write_images(Learner& learn, KeptSamples& kept, std::int64_t batch, const std::string& what);

  TensorBoardOptions options_;
  std::optional<tensorboard::EventFile> file_;
  std::shared_ptr<std::vector<BatchRecord>> batches_;  // that have no point yet
  std::map<std::int64_t, double> ended_;               // wall time of these
  Clock::time_point written_;                          // when points of batches were, last
  KeptSamples training_, validation_;
  std::int64_t training_batch_ = 0;  // the last that the former are from
  bool draws_ = false;               // the batches contain images, and images are requested
  bool stepped_ = false;             // the last batch made an update
  bool loaded_ = false;              // a state was, of this run or by a sandbox
  std::int64_t ended_at_ = -1;       // batches when the last fit ended
};

}  // namespace learn::callbacks
