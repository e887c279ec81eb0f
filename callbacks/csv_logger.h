#pragma once
#include "framework/io/csv.h"
#include "framework/learner/callback.h"
#include "framework/learner/recorder.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace learn::callbacks {

/// Writes a row for each finished epoch: epoch, time (seconds), train_loss, val_loss, the metrics,
/// lr, img_s. A row is on the disk when its epoch ends. The file is made at the first fit, with a
/// row for each epoch that the recorder knows already, so that a resumed run has every epoch once;
/// further fits of the same learner add to it, and nothing else touches it. Needs a Recorder.
class CsvLogger final : public Callback {
 public:
  explicit CsvLogger(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] std::string_view name() const override { return "csv_logger"; }
  [[nodiscard]] int order() const override { return order::kReport; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  /// Throws IoError if the file cannot be made, UsageError without a Recorder.
  void train_begin(Learner& learn) override;
  void epoch_end(Learner& learn) override;

 private:
  void write(const EpochRecord& epoch, const Learner& learn);

  std::filesystem::path path_;
  std::unique_ptr<CsvWriter> csv_;
};

}  // namespace learn::callbacks
