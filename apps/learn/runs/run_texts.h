#pragma once
#include "framework/runs/run_list.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Values of a run, as shown in a table.
namespace learn::cli {

/// In one line, nothing in it steers a terminal, and of no more than `width` columns.
[[nodiscard]] std::string cell_text(std::string_view text, std::size_t width = 60);
/// Four digits of a fraction, fewer for large values; "-" if unknown.
[[nodiscard]] std::string number_text(std::optional<double> value);
/// "0.01", three digits; empty if unknown.
[[nodiscard]] std::string peak_lr_text(const RunRecord& record);
/// "4.2 s" below a minute, then "1:02"; "-" if unknown.
[[nodiscard]] std::string duration_text(std::optional<double> seconds);
/// Converts a time in UTC, as in records, to local time: "2026-11-20 12:05"; without the current
/// year, if `brief`. Other texts are unchanged.
[[nodiscard]] std::string moment_text(const std::string& utc, bool brief = false);
/// The command line: "learn train --data 'my images'".
[[nodiscard]] std::string command_text(const std::vector<std::string>& argv);
/// "cifar10, 50 000 training and 10 000 validation images".
[[nodiscard]] std::string data_text(const RunRecord& record);
/// "accuracy 0.9870, in epoch 3"; empty without a best epoch.
[[nodiscard]] std::string best_text(const RunRecord& record);
/// "2/5" epochs.
[[nodiscard]] std::string epochs_text(const RunEntry& run);

/// A value of the last epoch by its name; empty if it is missing or not finite.
[[nodiscard]] std::optional<double> result_of(const RunEntry& run, const std::string& name);
/// Whether a result of this name gets better as it gets smaller.
[[nodiscard]] bool lower_is_better(const std::string& name);

/// Throws UsageError for a run that is named twice, even by different names.
void check_named_once(const std::vector<std::filesystem::path>& runs);

}  // namespace learn::cli
