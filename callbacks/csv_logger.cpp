#include "callbacks/csv_logger.h"

#include "callbacks/registry.h"
#include "framework/learner/learner.h"

namespace learn::callbacks {

std::vector<std::string> CsvLogger::claims() const {
  return {fmt::format("write '{}'", path_.lexically_normal().string())};
}

void CsvLogger::train_begin(Learner& learn) {
  const Recorder& recorder = recorder_of(learn, name());
  if (csv_) return;
  std::vector<std::string> header{"epoch", "time", "train_loss", "val_loss"};
  for (const Metric& metric : learn.options().metrics) header.push_back(metric.name);
  header.insert(header.end(), {"lr", "img_s"});
  csv_ = std::make_unique<CsvWriter>(path_, header);
  for (const EpochRecord& epoch : recorder.epochs()) write(epoch, learn);
}

void CsvLogger::epoch_end(Learner& learn) {
  const EpochRecord* epoch = recorder_of(learn, name()).finished_epoch();
  if (epoch != nullptr) write(*epoch, learn);
}

void CsvLogger::write(const EpochRecord& epoch, const Learner& learn) {
  std::vector<Cell> row{
      static_cast<double>(epoch.epoch), epoch.seconds, epoch.train_loss, epoch.valid_loss};
  for (const Metric& metric : learn.options().metrics) {
    Cell cell;
    for (const auto& [metric_name, value] : epoch.metrics)
      if (metric_name == metric.name) cell = value;
    row.push_back(cell);
  }
  row.emplace_back(static_cast<double>(epoch.lr));
  row.emplace_back(epoch.samples_per_second);
  csv_->row(row);
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
