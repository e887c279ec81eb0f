#pragma once
#include "framework/io/file_system.h"

#include <filesystem>
#include <string_view>

namespace learn {

/// Immediately throws what `remove_run` would throw, as far as that is known in advance. Changes
/// nothing.
void check_can_remove(const std::filesystem::path& run, FileSystem& files = disk());

/// Removes the folder of a run with all its contents, and nothing else: links are removed, not
/// followed. The folder is renamed first, so that a failure does not leave anything that looks like
/// a run: `list_runs` lists the rest, and `remove_run` accepts its path, too. `latest` next to it,
/// if it was this run or one that no longer exists, becomes the run that started last, or vanishes
/// with the only one. Throws UsageError for a folder that is not a run, for a link, for a folder
/// that contains a mounted file system, for a run that a process is using, including a former run
/// inside, or may be using by its record if locks are not reliable; IoError if not all could be
/// removed.
void remove_run(const std::filesystem::path& run, FileSystem& files = disk());

/// Whether a folder of this name is the rest of an interrupted removal.
[[nodiscard]] bool is_removal_leftover(std::string_view name);

}  // namespace learn
