#pragma once
#include <filesystem>

namespace learn {

/// Makes `root/latest` a link to the run, in one step, so that it never vanishes. No run fails for
/// it: where the file system knows no links, or something else has that name, the log has a
/// warning.
void point_latest(const std::filesystem::path& root, const std::filesystem::path& run);

/// The run that `root/latest` is a link to, as written in the link; empty without such a link.
[[nodiscard]] std::filesystem::path latest_run(const std::filesystem::path& root);

}  // namespace learn
