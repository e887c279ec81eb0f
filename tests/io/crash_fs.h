#pragma once
#include "framework/io/file_system.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace learn::test {

/// Content of a disk: the content of each file by path; empty for a folder.
using DiskState = std::map<std::string, std::optional<std::string>>;

/// A disk that keeps a journal of its calls, and lists its possible contents if the power fails
/// after any of them. In the manner of SQLite's tests: bytes are durable once their file is synced,
/// names once their folder is; what is not may be there, in part or torn, or not, and in any order.
/// A rename is atomic, or leaves both names.
class CrashFs : public FileSystem {
 public:
  /// `start` is there and durable; files of equal content are one with several names.
  explicit CrashFs(const DiskState& start = {});

  int create(const std::filesystem::path& path) override;
  /// Takes at most `kChunk` bytes, as a system may.
  ssize_t write(int file, std::span<const std::byte> bytes) override;
  int sync(int file) override;
  int close(int file) override;
  int link(const std::filesystem::path& from, const std::filesystem::path& to) override;
  int rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  int unlink(const std::filesystem::path& path) override;
  int make_folder(const std::filesystem::path& path) override;
  int sync_folder(const std::filesystem::path& path) override;
  static constexpr std::size_t kChunk = 3000;

  /// Calls so far that changed something or made it durable.
  [[nodiscard]] std::size_t steps() const noexcept { return journal_.size(); }
  /// Shows each state in which the disk may be found if the power fails when `steps` calls have
  /// been made; among them what all of these calls ask for, which is what a killed process leaves.
  void crash_after(std::size_t steps, const std::function<void(const DiskState&)>& show) const;

 private:
  using Node = std::size_t;
  struct Call {
    enum class Kind { write, sync, set, move, erase, sync_folder };
    Kind kind;
    Node node = 0;
    std::string path;    // the name that is set or erased; a folder
    std::string before;  // the name that a rename takes away
    std::string bytes;
  };
  struct Names;

  [[nodiscard]] Names names_after(std::size_t steps) const;
  [[nodiscard]] std::vector<std::string> contents_after(std::size_t steps, Node node) const;

  std::vector<Call> journal_;
  std::map<std::string, Node> names_;                // as a process sees them
  std::vector<std::optional<std::string>> durable_;  // of each node at the start; nothing: a folder
  std::map<std::string, Node> durable_names_;
  std::map<int, Node> open_;
  int next_file_ = 100;
};

}  // namespace learn::test
