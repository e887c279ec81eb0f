#pragma once
#include "framework/core/error.h"
#include "framework/io/file_system.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace learn {

/// Writes a file so that after any failure readers find the complete old or new content: to a
/// temporary file next to it, then fsync, rename, fsync of the directory. Replaces only files: a
/// link stays and the file it names is replaced; a device, a FIFO or a descriptor such as
/// /dev/stdout is written to directly; anything else is refused (see OutputPlace).
class AtomicFile {
 public:
  /// Creates the temporary file. `size` is the total size, if known: a full disk is reported with
  /// it. Throws IoError, also as `open_output`.
  explicit AtomicFile(const std::filesystem::path& target,
                      std::uint64_t size = 0,
                      FileSystem& files = disk());
  /// Removes the temporary file unless `commit` succeeded.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws IoError, for a full disk with what is needed and what is free; the target is untouched
  /// then.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Renames the file into place; closes files that are written directly. If `previous` is given,
  /// the old content is kept under that name; if the file system does not support hard links it is
  /// not, with one message in the log. Throws IoError.
  void commit(const std::filesystem::path& previous = {});

  /// Whether a file of this name is a temporary one, of this process or of one that was killed.
  [[nodiscard]] static bool is_temporary(std::string_view file_name);

 private:
  [[noreturn]] void fail_to(const char* what, SourceLocation at = SourceLocation::current());
  void discard() noexcept;
  void keep_as(const std::filesystem::path& previous);

  FileSystem& files_;
  std::filesystem::path target_;
  std::filesystem::path temporary_;  // empty: `fd_` is the target itself
  std::uint64_t size_;
  std::uint64_t written_ = 0;
  int fd_ = -1;
};

/// Returns the name of a temporary file next to `target`, different in each process.
[[nodiscard]] std::filesystem::path temporary_beside(const std::filesystem::path& target);

/// `AtomicFile` for a text in memory. Throws IoError.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);
/// The whole file. Throws IoError, also if it is larger than `limit` bytes.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path,
                                         std::size_t limit = std::size_t{1} << 20U);

}  // namespace learn
