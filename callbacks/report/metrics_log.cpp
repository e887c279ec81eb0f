#include "callbacks/report/metrics_log.h"

#include "callbacks/registry.h"
#include "framework/core/log.h"
#include "framework/io/atomic_file.h"
#include "framework/learner/learner.h"

#include <cmath>
#include <utility>

namespace learn::callbacks {
namespace {

namespace fs = std::filesystem;

/// Rows collected before they are written in the middle of an epoch.
constexpr std::size_t kRows = 512;

JsonObject row_of(const BatchRecord& batch) {
  JsonObject row{{"kind", std::string("batch")},
                 {"batch", batch.batch},
                 {"epoch", batch.epoch},
                 {"loss", batch.loss},
                 {"smooth_loss", batch.smooth_loss},
                 {"lr", batch.lr},
                 {"momentum", batch.momentum},
                 {"loss_scale", batch.loss_scale},
                 {"skipped", batch.skipped}};
  if (!std::isnan(batch.grad_norm)) row.emplace_back("grad_norm", batch.grad_norm);
  if (!std::isnan(batch.update_ratio)) row.emplace_back("update_ratio", batch.update_ratio);
  return row;
}

JsonObject row_of(const EpochRecord& epoch) {
  JsonObject row{{"kind", std::string("epoch")},
                 {"epoch", epoch.epoch},
                 {"seconds", epoch.seconds},
                 {"train_loss", epoch.train_loss},
                 {"valid_loss", epoch.valid_loss}};
  row.insert(row.end(), epoch.metrics.begin(), epoch.metrics.end());
  row.insert(row.end(),
             {{"lr", epoch.lr},
              {"skipped", epoch.skipped},
              {"loss_scale", epoch.loss_scale},
              {"samples_per_second", epoch.samples_per_second}});
  return row;
}

/// Returns the lines of a file up to a point of the training.
std::string lines_until(const fs::path& path, std::int64_t batch, std::int64_t epoch) {
  std::string kept;
  for (const JsonLine& line : read_json_lines(path)) {
    const auto kind = line.texts.find("kind");
    if (kind == line.texts.end()) continue;
    const auto at = line.numbers.find(kind->second);  // "batch" and "epoch" count themselves
    const auto last = static_cast<double>(kind->second == "batch" ? batch : epoch);
    if (at != line.numbers.end() && at->second <= last) kept += line.text + '\n';
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(MetricsLogOptions options) : options_(std::move(options)) {
  check<UsageError>(
      options_.every >= 0,
      "metrics_log: a row every {} batches: the number must not be negative; 0 writes none",
      options_.every);
}

std::vector<std::string> MetricsLog::claims() const {
  return {fmt::format("write '{}'", options_.path.lexically_normal().string())};
}

void MetricsLog::visit_state(StateVisitor& visitor) {
  if (visitor.loading()) continues_ = true;
}

void MetricsLog::train_begin(Learner& learn) {
  Recorder& recorder = recorder_of(learn, name());
  const bool continues = std::exchange(continues_, false);
  if (file_ && !continues) return;
  const FitProgress& fit = learn.progress();
  std::string kept;
  if (continues && fs::is_regular_file(options_.path))
    kept = lines_until(options_.path, fit.batch_clock, fit.epoch_clock);
  file_.reset();
  write_file_atomically(options_.path, kept);
  file_ = std::make_unique<JsonLinesWriter>(options_.path);
  if (options_.every == 0) return;
  batches_ = std::make_shared<std::vector<BatchRecord>>();
  recorder.share_batches(batches_);
}

void MetricsLog::batch_end(Learner&) {
  if (batches_ && batches_->size() >= kRows) write_batches();
}

void MetricsLog::epoch_end(Learner& learn) {
  Recorder& recorder = recorder_of(learn, name());
  (void)recorder.batches(learn);  // reads all values that are still on the device
  write_batches();
  if (const EpochRecord* const epoch = recorder.finished_epoch()) file_->lines({row_of(*epoch)});
}

void MetricsLog::train_end(Learner& learn) {
  (void)recorder_of(learn, name()).batches(learn);
  write_batches();
}

void MetricsLog::error(Learner&, const std::exception&) { write_batches(); }

void MetricsLog::write_batches() {
  if (!batches_ || !file_) return;
  std::vector<JsonObject> rows;
  for (const BatchRecord& batch : std::exchange(*batches_, {}))
    if (batch.batch % options_.every == 0) rows.push_back(row_of(batch));
  if (!rows.empty()) file_->lines(rows);
}

void register_metrics_log(CallbackRegistry& registry) {
  registry.add(
      "metrics_log",
      "writes a JSON line per batch and per epoch",
      MetricsLogOptions{},
      [](OptionTable& t, MetricsLogOptions& o) {
        t.text("path", o.path, "FILE", "relative to the folder of the run");
        t.number("every",
                 o.every,
                 {.low = 0, .high = 1e9},
                 "N",
                 "batches between two rows of batches; 0: epochs only");
      },
      [](MetricsLogOptions o, const RunSettings& run) {
        o.path = run.folder / o.path;
        return make_callback<MetricsLog>(Role::reports, std::move(o));
      });
}

}  // namespace learn::callbacks
