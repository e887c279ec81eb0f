// One run in full: the other half of run_comparison.h.
#include "apps/learn/runs/run_comparison.h"
#include "apps/learn/runs/run_settings.h"
#include "apps/learn/runs/run_texts.h"
#include "framework/core/printable.h"
#include "framework/io/free_space.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

/// Names and what they are, in two columns; values that are empty are left out.
class Facts {
 public:
  void add(const std::string& name, const std::string& value) {
    constexpr std::size_t kMax = 2000;  // an error may be a page, and is printed in full
    if (!value.empty()) rows_.emplace_back(cell_text(name), cell_text(value, kMax));
  }

  [[nodiscard]] std::string text(const std::string& indent = "") const {
    std::size_t widest = 0;
    for (const auto& [name, value] : rows_) widest = std::max(widest, display_width(name));
    std::string text;
    for (const auto& [name, value] : rows_)
      text +=
          fmt::format("{}{}  {}\n", indent, padded(name, widest, TextTable::Align::left), value);
    return text;
  }

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

std::string steps_text(const RunRecord::Steps& steps) {
  std::string text = grouped(steps.applied);
  if (steps.skipped > 0) text += fmt::format(", {} skipped", grouped(steps.skipped));
  if (steps.loss_scale != 1) text += fmt::format(", loss scale {}", steps.loss_scale);
  return text;
}

void add_record(Facts& facts, const RunRecord& record) {
  if (record.status == "crashed" || record.status == "diverged") facts.add("error", record.error);
  facts.add("command", command_text(record.argv));
  facts.add("model", fmt::format("{}, {} parameters", record.model, grouped(record.parameters)));
  facts.add("data", data_text(record));
  facts.add("fingerprint", record.fingerprint);
  facts.add("precision", record.precision);
  facts.add(
      "device",
      fmt::format(
          "{}, {} {}", record.device, record.threads, record.threads == 1 ? "thread" : "threads"));
  facts.add("seed", fmt::format("{}", record.seed));
  facts.add("epochs", fmt::format("{} of {}", record.epochs_done, record.epochs));
  facts.add("best", best_text(record));
  facts.add("steps", steps_text(record.steps));
  facts.add("peak learning rate", peak_lr_text(record));
  facts.add("started", moment_text(record.started));
  for (const auto& [at, argv, precision] : record.resumes)
    facts.add("resumed",
              fmt::format("{}{}: {}",
                          moment_text(at),
                          precision.empty() ? "" : " in " + precision,
                          command_text(argv)));
  if (!record.ended.empty()) facts.add("ended", moment_text(record.ended));
}

/// The checkpoints and their sizes.
std::string weights_text(const fs::path& run) {
  std::vector<std::pair<std::string, std::uint64_t>> files;
  std::error_code error;
  for (fs::directory_iterator at(run / "weights", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code no_size;
    const std::uint64_t size = fs::file_size(at->path(), no_size);
    if (at->path().extension() == ".safetensors" && !no_size)
      files.emplace_back(at->path().stem().string(), size);
  }
  std::ranges::sort(files);
  std::vector<std::string> words;
  for (const auto& [name, size] : files)
    words.push_back(fmt::format("{} ({})", name, bytes_text(size)));
  return join(words);
}

}  // namespace

std::string show_run(const RunEntry& run) {
  Facts facts;
  facts.add("run", run.path.string());
  facts.add("status", run.status);
  if (run.problem.empty())
    add_record(facts, run.record);
  else
    facts.add("problem", run.problem);
  if (run.seconds) facts.add("time", duration_text(run.seconds));
  facts.add("size", bytes_text(run.bytes));
  facts.add("weights", weights_text(run.path));
  for (const auto& [name, text] : run.record.machine) facts.add(name, text);
  for (const auto& [name, version] : run.record.versions) facts.add(name, version);
  std::string text = facts.text();

  Facts results;
  for (const auto& [name, value] : run.record.results) results.add(name, number_text(value));
  if (!run.record.results.empty()) text += "\nresults of the last epoch\n" + results.text("  ");

  const RunSettings settings = read_settings(run);
  Facts all;
  for (const ConfigEntry& setting : settings.values) all.add(setting.name, setting_text(setting));
  text += settings.problem.empty() ? "\nsettings\n" + all.text("  ")
                                   : fmt::format("\nunknown settings: {}\n", settings.problem);
  return text;
}

}  // namespace learn::cli
