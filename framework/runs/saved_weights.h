#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace learn {

/// Returns what a user names as a run: a path that leads to a file or to the folder of a run, or
/// the name of a run in `out`, or "last", the latest run there. A folder that holds nothing of a
/// run is passed over, so that a run may have the name of a folder of data. Links are followed
/// once. Throws CheckpointError that says what may be meant if there is no such run, and UsageError
/// if there are two.
[[nodiscard]] std::filesystem::path run_folder(const std::string& name, const std::string& out);

/// Returns the same of anything that is there, such as a damaged run or what is left of one.
[[nodiscard]] std::filesystem::path anything_named(const std::string& name, const std::string& out);

/// The checkpoint that a user names: a file, or the folder of a run, of which `which` is taken:
/// "best", "last", "epoch-0004". If nothing is said that is the best, or the last where no epoch
/// has ended yet, with a note in the log. Throws CheckpointError, which lists what a run has, and
/// UsageError if something is chosen of a file.
[[nodiscard]] std::filesystem::path saved_weights(const std::filesystem::path& path,
                                                  const std::optional<std::string>& which = {});

}  // namespace learn
