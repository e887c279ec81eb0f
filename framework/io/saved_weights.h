#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace learn {

/// The folder of the run that `name` names: itself, or with "last" the latest run in `out`. Throws
/// CheckpointError if there is none.
[[nodiscard]] std::filesystem::path run_folder(const std::string& name, const std::string& out);

/// The checkpoint that a user names: a file, or the folder of a run, of which `which` is taken:
/// "best", "last", "epoch-0004". If nothing is said that is the best, or the last where no epoch
/// has ended yet, with a note in the log. Throws CheckpointError, which lists what a run has, and
/// UsageError if something is chosen of a file.
[[nodiscard]] std::filesystem::path saved_weights(const std::filesystem::path& path,
                                                  const std::optional<std::string>& which = {});

}  // namespace learn
