#pragma once
#include <filesystem>

namespace learn {

/// Makes `root/latest` a link to the run, atomically, so that it never vanishes. A failure only
/// logs a warning: if the file system does not support links, or if something else has that name.
void point_latest(const std::filesystem::path& root, const std::filesystem::path& run);

/// The run that `root/latest` is a link to, as written in the link; empty without such a link.
[[nodiscard]] std::filesystem::path latest_run(const std::filesystem::path& root);

}  // namespace learn
