#pragma once
#include "framework/io/file_system.h"

#include <filesystem>
#include <string_view>

namespace learn {

/// Throws at once what `remove_run` would throw, as far as that is known in advance. Changes
/// nothing.
void check_can_remove(const std::filesystem::path& run, FileSystem& files = disk());

/// Removes the folder of a run with all in it, and nothing else: links are removed, not followed.
/// The folder is renamed first, so that whatever happens then, nothing is left that looks like a
/// run: `list_runs` tells of what is, and `remove_run` takes its path, too. `latest` beside it, if
/// that was this run or one that is not there any more, becomes the run there that began last, or
/// vanishes with the only one.
/// Throws UsageError for what is no run, for a link, for a folder that another file system is
/// mounted in, for a run in which a process works, be it in a former run inside, or in which one
/// may work by its record where locks do not tell; IoError if not all could be removed.
void remove_run(const std::filesystem::path& run, FileSystem& files = disk());

/// Whether a folder of this name is what is left of a run whose removal was cut short.
[[nodiscard]] bool is_removal_leftover(std::string_view name);

}  // namespace learn
