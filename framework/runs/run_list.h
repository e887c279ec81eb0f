#pragma once
#include "framework/io/file_system.h"
#include "framework/runs/run_record.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace learn {

/// A run on disk.
struct RunEntry {
  std::filesystem::path path;
  std::string name;  ///< of its folder
  /// The current status, whatever the record says: running while a process uses the folder;
  /// finished, interrupted, crashed, diverged; gone if the record says running but no process uses
  /// it, as after a kill or a loss of power; unknown if it says running and the file system does
  /// not support locks or is shared with other machines; damaged if it is not a record.
  std::string status;
  RunRecord record;
  std::string problem;            ///< of a damaged run: why it cannot be read
  std::optional<double> seconds;  ///< in its epochs, from `results.csv`; empty without epochs
  std::uint64_t bytes = 0;        ///< on the disk, former runs in it included
};

/// The statuses that an entry can have.
[[nodiscard]] const std::vector<std::string>& run_statuses();

/// Whether the folder is that of a run: it has a `run.json`, readable or not.
[[nodiscard]] bool is_run(const std::filesystem::path& folder);

/// Reads a run. Throws UsageError for a folder that is not a run.
[[nodiscard]] RunEntry look_at_run(const std::filesystem::path& run, FileSystem& files = disk());

/// Content of a folder of runs.
struct RunList {
  std::vector<RunEntry> runs;  ///< by name
  /// Runs whose removal was interrupted: all or some of their files.
  std::vector<std::filesystem::path> leftovers;
};
/// Hidden folders are ignored, and so are links to runs that are listed anyway, `latest` among
/// them. Throws IoError if the folder cannot be read.
[[nodiscard]] RunList list_runs(const std::filesystem::path& root, FileSystem& files = disk());

/// Bytes that a folder takes on the disk with all in it, as `du` counts: links are not followed,
/// and a file of several names counts once.
[[nodiscard]] std::uint64_t disk_usage(const std::filesystem::path& folder);

/// "train-3" of "runs/train-3/" and of "." there.
[[nodiscard]] std::string folder_name(const std::filesystem::path& folder);

/// Numbers as people write them down the list: "train-2" before "train-10".
[[nodiscard]] bool comes_before(std::string_view a, std::string_view b);

}  // namespace learn
