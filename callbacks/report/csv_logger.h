#pragma once
#include "framework/io/csv.h"
#include "framework/learner/callback.h"
#include "framework/learner/history/recorder.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace learn::callbacks {

/// Writes a row for each finished epoch: epoch, time (seconds), train_loss, valid_loss, the
/// metrics, lr, skipped (steps), loss_scale, samples_per_second. A row is on the disk when its
/// epoch ends. The first epoch determines the columns; a metric that appears later gets no column,
/// and one warning names it. Needs a Recorder.
///
/// The first fit creates the file, with a row for each epoch in the recorder. Further fits of the
/// same learner append to it. After a state was loaded, the rows of an existing file are kept up to
/// the epoch of that state, so that each epoch has one row.
class CsvLogger final : public Callback {
 public:
  explicit CsvLogger(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] std::string_view name() const override { return "csv_logger"; }
  [[nodiscard]] int order() const override { return order::kReport; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  void visit_state(StateVisitor& visitor) override;
  /// Throws IoError if the file cannot be created, UsageError without a Recorder.
  void train_begin(Learner& learn) override;
  void epoch_end(Learner& learn) override;

 private:
  void write(const EpochRecord& epoch);
  [[nodiscard]] std::vector<Cell> row_of(const EpochRecord& epoch) const;

  std::filesystem::path path_;
  std::vector<std::string> header_;
  std::unique_ptr<CsvWriter> csv_;
  bool has_rows_ = false;
  bool continues_ = false;  // a state was loaded, and the file belongs to its run
  bool warned_ = false;
};

}  // namespace learn::callbacks
