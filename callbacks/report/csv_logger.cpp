#include "callbacks/report/csv_logger.h"

#include "callbacks/registry.h"
#include "framework/core/log.h"
#include "framework/io/output_place.h"
#include "framework/learner/learner.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>
#include <utility>

namespace learn::callbacks {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> header_with(const std::vector<std::string>& metrics) {
  std::vector<std::string> header{"epoch", "time", "train_loss", "valid_loss"};
  header.insert(header.end(), metrics.begin(), metrics.end());
  header.insert(header.end(), {"lr", "skipped", "loss_scale", "samples_per_second"});
  return header;
}

std::vector<std::string> metrics_of(const EpochRecord& epoch) {
  std::vector<std::string> names;
  for (const auto& [name, value] : epoch.metrics) names.push_back(name);
  return names;
}

/// Rows by epoch.
using Rows = std::map<std::int64_t, std::vector<Cell>>;

/// Returns the rows of a table left by an interrupted run.
Rows rows_of(const CsvTable& table, std::int64_t last_epoch) {
  Rows rows;
  const auto column = table.column("epoch");
  if (!column) return rows;
  for (const std::vector<std::string>& row : table.rows) {
    const std::string& text = row[*column];
    std::int64_t epoch = 0;
    std::from_chars(text.data(), text.data() + text.size(), epoch);
    if (epoch >= 1 && epoch <= last_epoch) rows[epoch] = {row.begin(), row.end()};
  }
  return rows;
}

/// Reads the content of the file. An unreadable file counts as missing.
CsvTable table_in(const fs::path& path) {
  try {
    return read_csv(path);
  } catch (const Error& e) {
    log::warn("[csv_logger] {}: rewriting it with the epochs of the checkpoint", e.what());
    return {};
  }
}

}  // namespace

std::vector<std::string> CsvLogger::claims() const {
  return {fmt::format("write '{}'", path_.lexically_normal().string())};
}

void CsvLogger::visit_state(StateVisitor& visitor) {
  if (visitor.loading()) continues_ = true;
}

void CsvLogger::train_begin(Learner& learn) {
  const Recorder& recorder = recorder_of(learn, name());
  const FitProgress& fit = learn.progress();
  const bool continues = std::exchange(continues_, false);
  if (csv_ && !continues) return;
  csv_.reset();
  CsvTable table;
  if (continues && fs::is_regular_file(path_)) table = table_in(path_);
  Rows rows = rows_of(table, fit.epoch_clock);
  const std::vector<EpochRecord>& known = recorder.epochs();
  if (!rows.empty())
    header_ = table.header;
  else if (!known.empty() && !known.front().metrics.empty())
    header_ = header_with(metrics_of(known.front()));
  else
    header_ = header_with(learn.metric_names());
  // Kept rows stay in the old file until they are in the new one.
  const fs::path file = check_output(path_);
  fs::path path = file;
  if (!rows.empty()) path += fmt::format(".tmp.{}", ::getpid());
  for (const EpochRecord& epoch : known) rows.try_emplace(epoch.epoch, row_of(epoch));
  std::vector<std::vector<Cell>> in_order;
  for (auto& [epoch, row] : rows) in_order.push_back(std::move(row));
  csv_ = std::make_unique<CsvWriter>(path, header_);
  if (!in_order.empty()) csv_->rows(in_order);
  has_rows_ = !in_order.empty();
  if (path == file) return;
  std::error_code error;
  fs::rename(path, file, error);
  if (error) fail<IoError>("cannot create '{}': {}", path_.string(), error.message());
}

void CsvLogger::epoch_end(Learner& learn) {
  const EpochRecord* epoch = recorder_of(learn, name()).finished_epoch();
  if (epoch != nullptr) write(*epoch);
}

void CsvLogger::write(const EpochRecord& epoch) {
  std::string late;
  for (const std::string& metric : metrics_of(epoch))
    if (std::find(header_.begin(), header_.end(), metric) == header_.end())
      late += (late.empty() ? "'" : ", '") + metric + "'";
  if (!late.empty() && !has_rows_) {
    header_ = header_with(metrics_of(epoch));
    csv_ = std::make_unique<CsvWriter>(path_, header_);
  } else if (!late.empty() && !std::exchange(warned_, true)) {
    log::warn(
        "[csv_logger] {} appeared after the first epoch: '{}' has no column for it. Its callback "
        "must provide it from the first epoch on",
        late,
        path_.string());
  }
  csv_->row(row_of(epoch));
  has_rows_ = true;
}

std::vector<Cell> CsvLogger::row_of(const EpochRecord& epoch) const {
  std::map<std::string, double, std::less<>> values{
      {"epoch", static_cast<double>(epoch.epoch)},
      {"time", epoch.seconds},
      {"train_loss", epoch.train_loss},
      {"valid_loss", epoch.valid_loss},
      {"lr", static_cast<double>(epoch.lr)},
      {"skipped", static_cast<double>(epoch.skipped)},
      {"loss_scale", static_cast<double>(epoch.loss_scale)},
      {"samples_per_second", epoch.samples_per_second}};
  values.insert(epoch.metrics.begin(), epoch.metrics.end());
  std::vector<Cell> row;
  for (const std::string& column : header_) {
    const auto value = values.find(column);
    Cell& cell = row.emplace_back();
    if (value != values.end()) cell = value->second;
  }
  return row;
}

void register_csv_logger(CallbackRegistry& registry) {
  registry.add(
      "csv_logger",
      "writes a CSV row per epoch",
      std::filesystem::path("results.csv"),
      [](OptionTable& t, std::filesystem::path& path) {
        t.text("path", path, "FILE", "relative to the folder of the run");
      },
      [](const std::filesystem::path& path, const RunSettings& run) {
        return make_callback<CsvLogger>(Role::reports, run.folder / path);
      });
}

}  // namespace learn::callbacks
