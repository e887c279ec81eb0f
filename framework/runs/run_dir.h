#pragma once
#include "framework/runs/run_record.h"

#include <filesystem>
#include <memory>
#include <string>

namespace learn {

class FolderLock;

/// The folder of one run, with all of its files. While the object exists, no other process can
/// create one for the same folder (UsageError).
class RunDir {
 public:
  /// Makes `root/name`, or `root/name-2`, `root/name-3`, ... if that exists; creating the folder is
  /// the lock, so two processes never share one. With `exist_ok` an existing `root/name` is used
  /// again; if it holds checkpoints, they and the files next to them are moved into `former-1` in
  /// it, `former-2`, ..., which is then a run like any other. Also makes `weights/`, removes
  /// half-written files of killed processes, and points `root/latest` here, or warns if that fails.
  /// Throws UsageError for a name that is not a plain file name, IoError if the folder cannot be
  /// created.
  [[nodiscard]] static RunDir create(const std::filesystem::path& root,
                                     const std::string& name,
                                     bool exist_ok = false);

  /// Opens the folder of an existing run. Throws IoError if it does not exist.
  [[nodiscard]] static RunDir open(const std::filesystem::path& path);

  /// Removes half-written files of a killed process. Throws UsageError if a process is using the
  /// folder.
  static void tidy(const std::filesystem::path& path);

  /// Immediately throw what `create` and `open` would throw after a long preparation, for a wrong
  /// name and for a place where nothing can be written. Change nothing.
  static void check_can_create(const std::filesystem::path& root,
                               const std::string& name,
                               bool exist_ok = false);
  static void check_can_open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path weights(const std::string& name) const {
    return path_ / "weights" / (name + ".safetensors");
  }
  /// Replaces `run.json` atomically. Throws IoError.
  void write(const RunRecord& record) const;

 private:
  explicit RunDir(std::filesystem::path path);

  std::filesystem::path path_;
  std::shared_ptr<const FolderLock> lock_;
};

/// Now, as "2026-11-20T12:05:17Z".
[[nodiscard]] std::string utc_now();

}  // namespace learn
