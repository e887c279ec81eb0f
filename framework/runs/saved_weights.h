#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace learn {

/// Returns the run that a user names by a path to a file or to the folder of a run, by the name of
/// a run in `out`, or by "last", the latest run there. A folder without files of a run is ignored,
/// so that a run may have the name of a data folder. Links are followed once. Throws
/// CheckpointError with a suggestion if the run does not exist, and UsageError if there are two.
[[nodiscard]] std::filesystem::path run_folder(const std::string& name, const std::string& out);

/// Returns it for any existing folder, such as a damaged run or the rest of one.
[[nodiscard]] std::filesystem::path anything_named(const std::string& name, const std::string& out);

/// Returns the checkpoint that a user names: a file, or, for the folder of a run, `which` of it:
/// "best", "last", "epoch-0004". By default it is the best, or, with a message in the log, the last
/// if no epoch has ended yet. Throws CheckpointError, which lists what a run has, and UsageError
/// for a choice with a file.
[[nodiscard]] std::filesystem::path saved_weights(const std::filesystem::path& path,
                                                  const std::optional<std::string>& which = {});

}  // namespace learn
