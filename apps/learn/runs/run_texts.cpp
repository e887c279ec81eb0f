#include "apps/learn/runs/run_texts.h"

#include "framework/core/error.h"
#include "framework/core/options/quoting.h"
#include "framework/core/printable.h"
#include "framework/learner/history/monitor.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <ctime>

namespace learn::cli {

std::string cell_text(std::string_view text, std::size_t width) {
  std::string line = printable(text);
  for (char& c : line)
    if (c == '\n' || c == '\t') c = ' ';
  if (display_width(line) <= width) return line;
  constexpr std::string_view kCut = "...";
  std::size_t end = 0;
  for (std::size_t columns = 0; end < line.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(line[end]) & 0xC0U) != 0x80U;
    if (begins && ++columns > width - kCut.size()) break;
  }
  return line.substr(0, end) + std::string(kCut);
}

std::string number_text(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "-";
  const double size = std::abs(*value);
  if (size >= 1e6 || (size < 1e-3 && size > 0)) return fmt::format("{:.3e}", *value);
  return fmt::format("{:.{}f}", *value, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 4);
}

std::string peak_lr_text(const RunRecord& record) {
  return record.peak_lr > 0 ? fmt::format("{:.3g}", record.peak_lr) : "";
}

std::string duration_text(std::optional<double> seconds) {
  if (!seconds) return "-";
  // A duration that would round to a minute is shown as one.
  return *seconds < 59.95 ? fmt::format("{:.1f} s", *seconds) : clock_text(*seconds);
}

std::string moment_text(const std::string& utc, bool brief) {
  std::tm parts{};
  const char* const end = ::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return utc.empty() ? "-" : cell_text(utc, 20);
  const std::time_t moment = ::timegm(&parts);
  const std::time_t now = std::time(nullptr);
  std::tm here{};
  std::tm today{};
  ::localtime_r(&moment, &here);
  ::localtime_r(&now, &today);
  const bool short_form = brief && here.tm_year == today.tm_year;
  std::array<char, 32> text{};
  const std::size_t size =
      std::strftime(text.data(), text.size(), short_form ? "%m-%d %H:%M" : "%Y-%m-%d %H:%M", &here);
  return {text.data(), size};
}

std::string command_text(const std::vector<std::string>& argv) {
  return "learn " + shell_words(argv);
}

std::string data_text(const RunRecord& record) {
  return fmt::format("{}, {} training and {} validation images{}",
                     record.dataset,
                     grouped(record.train_samples),
                     grouped(record.valid_samples),
                     record.synthetic ? " (synthetic)" : "");
}

std::string best_text(const RunRecord& record) {
  if (!record.best) return "";
  const auto& [metric, value, epoch] = *record.best;
  return fmt::format("{} {}, in epoch {}", metric, number_text(value), epoch);
}

std::string epochs_text(const RunEntry& run) {
  return fmt::format("{}/{}", run.record.epochs_done, run.record.epochs);
}

std::optional<double> result_of(const RunEntry& run, const std::string& name) {
  const auto found = run.record.results.find(name);
  if (found == run.record.results.end() || !std::isfinite(found->second)) return std::nullopt;
  return found->second;
}

void check_named_once(const std::vector<std::filesystem::path>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      std::error_code ignored;
      if (runs[k] == runs[i])
        fail<UsageError>("'{}' is named twice: name each run once", runs[i].string());
      if (std::filesystem::equivalent(runs[k], runs[i], ignored))
        fail<UsageError>("'{}' and '{}' are the same run: name each run once",
                         runs[k].string(),
                         runs[i].string());
    }
}

bool lower_is_better(const std::string& name) {
  return name == "seconds" || Monitor(name).lower_is_better();
}

}  // namespace learn::cli
