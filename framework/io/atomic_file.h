#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace learn {

/// Writes a file so that, whatever happens, readers find the old content or the new one, whole: to
/// a temporary file beside it, then fsync, rename, fsync of the directory. Symbolic links at the
/// target are replaced, never followed.
class AtomicFile {
 public:
  /// Creates the temporary file. Throws IoError.
  explicit AtomicFile(std::filesystem::path target);
  /// Removes the temporary file unless `commit` succeeded.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Throws IoError, for a full disk for instance; the target is untouched then.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Puts the file in place. If `previous` is given, the old content is kept under that name.
  /// Throws IoError.
  void commit(const std::filesystem::path& previous = {});

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int fd_ = -1;
};

/// `AtomicFile` for a text that is at hand. Throws IoError.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);
/// The whole file. Throws IoError, also if it is larger than `limit` bytes.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path,
                                         std::size_t limit = std::size_t{1} << 20U);

}  // namespace learn
