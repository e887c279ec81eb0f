#pragma once
#include "framework/io/json_lines.h"
#include "framework/learner/callback.h"
#include "framework/learner/history/recorder.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace learn::callbacks {

struct MetricsLogOptions {
  std::filesystem::path path = "metrics.jsonl";
  std::int64_t every = 1;  ///< batches per row of a batch; 0: rows of epochs only
};

/// Writes a JSON line for each training batch and each finished epoch, in the order they ended.
///
///   {"kind": "batch", "batch": 12, "epoch": 0.06, "loss": 2.2, "smooth_loss": 2.3, "lr": 0.01,
///    "momentum": 0.9, "loss_scale": 1, "skipped": 0}
///   {"kind": "epoch", "epoch": 1, "seconds": 3.1, "train_loss": 1.9, "valid_loss": 1.8,
///    "accuracy": 0.4, "lr": 0.1, "skipped": 0, "loss_scale": 1, "samples_per_second": 2100}
///
/// The names are as in BatchRecord and EpochRecord; `grad_norm` and `update_ratio` are present if
/// they were measured (StepNorms). An infinite or NaN value, or a missing validation loss, is
/// null. Rows of batches are written when their values have arrived from the device, at the end of
/// an epoch at the latest, so that no batch waits. A written row is on the disk.
///
/// The first fit creates the file; further fits of the same learner append to it. After a state was
/// loaded, the rows up to that state are kept, so that each batch and each epoch has one row. Needs
/// a Recorder.
class MetricsLog final : public Callback {
 public:
  /// Throws UsageError if `every` is negative.
  explicit MetricsLog(MetricsLogOptions options = {});

  [[nodiscard]] std::string_view name() const override { return "metrics_log"; }
  [[nodiscard]] int order() const override { return order::kReport; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  void visit_state(StateVisitor& visitor) override;
  /// Throws IoError if the file cannot be created, UsageError without a Recorder.
  void train_begin(Learner& learn) override;
  void batch_end(Learner& learn) override;
  void epoch_end(Learner& learn) override;
  void train_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

 private:
  void write_batches();

  MetricsLogOptions options_;
  std::shared_ptr<std::vector<BatchRecord>> batches_;  // without a row yet
  std::unique_ptr<JsonLinesWriter> file_;
  bool continues_ = false;  // a state was loaded, and the file belongs to its run
};

}  // namespace learn::callbacks
