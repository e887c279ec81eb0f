#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace learn {

/// The few calls by which this library creates files and folders, so that tests can simulate a disk
/// that fails or loses power. Each behaves like the POSIX call of its name, returns -1 and sets
/// `errno` on failure, and is not repeated here after EINTR.
class FileSystem {
 public:
  FileSystem() = default;
  virtual ~FileSystem();
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  /// A file that was not there, open for writing; symbolic links are not followed.
  virtual int create(const std::filesystem::path& path);
  virtual ssize_t write(int file, std::span<const std::byte> bytes);
  virtual int sync(int file);
  virtual int close(int file);
  virtual int link(const std::filesystem::path& from, const std::filesystem::path& to);
  virtual int rename(const std::filesystem::path& from, const std::filesystem::path& to);
  virtual int unlink(const std::filesystem::path& path);
  virtual int make_folder(const std::filesystem::path& path);
  /// Makes the names in a folder durable, as far as the file system can.
  virtual int sync_folder(const std::filesystem::path& path);
  /// Bytes that this user can still write there; empty if the file system does not report it.
  virtual std::optional<std::uint64_t> free_space(const std::filesystem::path& folder);
  /// Whether a folder's lock is visible to all its users; not if other machines share the file
  /// system.
  virtual bool sees_all_locks(const std::filesystem::path& folder);
};

/// The machine's own.
[[nodiscard]] FileSystem& disk();

/// Creates a folder durably. Returns false if the name exists. Throws IoError.
bool make_folder(const std::filesystem::path& path, FileSystem& files = disk());
/// Creates a folder and its parents durably; existing ones stay. Throws IoError.
void make_folders(const std::filesystem::path& path, FileSystem& files = disk());

}  // namespace learn
