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
  std::int64_t images = 16;                    ///< of training and of validation each; 0: none
  DrawSamples draw;                            ///< null: no images
  std::string config;                          ///< shown as text; empty: none
};

/// Writes a training for TensorBoard: `tensorboard --logdir FOLDER`. The step of every value is the
/// number of training batches seen, including resumed runs.
///
///   train/loss, smooth_loss, lr, momentum, loss_scale, skipped    of a batch (BatchRecord);
///         grad_norm, update_ratio                                 where they were measured
///   epoch/train_loss, valid_loss, metrics, lr, skipped,           at the end of an epoch
///         loss_scale, seconds, samples_per_second                 (EpochRecord)
///   weights/NAME       histogram of a parameter, of its f32 master if it is half in the model
///   gradients/NAME     histogram of its gradient in the last step of the epoch: unscaled, clipped
///                      by value if enabled, but not by norm; none if the last batch took no step
///   not_finite/weights, gradients    number of infinite and NaN values, which histograms leave
///                      out; not_finite/weights/NAME locates them
///   images/training, validation      samples as the model received them, with their classes and
///                      its predictions: the first samples of the epoch, in training mode; and the
///                      same samples of each whole validation, spread over it. Both passes make
///                      these predictions anyway, so nothing is computed twice
///   config             text
///
/// Points of batches are written when their values have arrived from the device, every ten seconds
/// if there are any, and at the end of an epoch, so that no batch waits. Captured steps stay
/// captured, because nothing happens inside them. Written values are on the disk. A training has
/// the same bits with and without this callback. It is inactive in a sandbox.
///
/// The first fit moves event files in the folder to its subfolder `former-1`; further fits of the
/// same learner append to the file. After loading the state of another batch a new file follows,
/// and TensorBoard shows each step once, see EventFile. Needs a Recorder.
class TensorBoard final : public Callback {
 public:
  /// Throws UsageError if a number is negative.
  explicit TensorBoard(TensorBoardOptions options = {});

  [[nodiscard]] std::string_view name() const override { return "tensorboard"; }
  [[nodiscard]] int order() const override { return order::kReport; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  void visit_state(StateVisitor& visitor) override;
  /// Throws IoError if the file cannot be created, UsageError without a Recorder.
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
  std::shared_ptr<std::vector<BatchRecord>> batches_;  // without a point yet
  std::map<std::int64_t, double> ended_;               // wall time at the end of these batches
  Clock::time_point written_;                          // when points of batches were last written
  KeptSamples training_, validation_;
  std::int64_t training_batch_ = 0;  // the last batch of the kept training samples
  bool draws_ = false;               // images are enabled, and the batches hold images
  bool stepped_ = false;             // the last batch made an update
  bool loaded_ = false;              // a state was loaded, of this run or by a sandbox
  std::int64_t ended_at_ = -1;       // batch clock at the end of the last fit
};

}  // namespace learn::callbacks
