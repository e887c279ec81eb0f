#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace learn::data {

/// No image or part of a data set is larger.
inline constexpr std::uintmax_t kMaxFileBytes = 256U << 20U;

/// Files below a folder or in an archive. Paths are relative to its root, which is "". What has a
/// name that begins with a dot is not there. What reads files later shares the ownership of it.
class FileTree : public std::enable_shared_from_this<FileTree> {
 public:
  explicit FileTree(std::filesystem::path where) : where_(std::move(where)) {}
  virtual ~FileTree() = default;
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;

  /// Of the folder, or of the archive without ".tar.gz" and the like.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual bool has_folder(const std::filesystem::path& folder) const = 0;
  [[nodiscard]] virtual bool has_file(const std::filesystem::path& file) const = 0;
  /// Names of the folders in `folder`, sorted.
  [[nodiscard]] virtual std::vector<std::string> folders(
      const std::filesystem::path& folder) const = 0;
  /// Files below `folder`, in any depth, sorted by path.
  [[nodiscard]] virtual std::vector<std::filesystem::path> files(
      const std::filesystem::path& folder) const = 0;
  /// Threads may read at the same time. Throws DataError, whose text need not name the file,
  /// also for more than `kMaxFileBytes`.
  [[nodiscard]] virtual std::vector<std::uint8_t> read(const std::filesystem::path& file) const = 0;
  /// The size of a file, 0 if that cannot be told.
  [[nodiscard]] virtual std::uintmax_t bytes(const std::filesystem::path& file) const = 0;
  /// Whether two names lead to one folder.
  [[nodiscard]] virtual bool same_folder(const std::filesystem::path& a,
                                         const std::filesystem::path& b) const = 0;

  /// How messages call a file or folder.
  [[nodiscard]] std::string text(const std::filesystem::path& path = {}) const {
    return path.empty() ? where_.string() : (where_ / path).string();
  }

 protected:
  [[nodiscard]] const std::filesystem::path& where() const { return where_; }

 private:
  std::filesystem::path where_;
};

/// A file or more of a tree that cannot be had.
struct TreeProblem {
  std::filesystem::path path;  ///< in the tree; "": all that follows in an archive
  std::string why;             ///< goes with the path, which it does not name
  bool of_file = false;        ///< of the contents of one file only
};

/// A folder as it lies, links to files followed; or a zip archive or a tar archive (plain, gzip,
/// bzip2, xz or zstd), whose files come into memory. Nothing is unpacked to disk. A single folder
/// at the top of an archive is left out of paths unless it is called "train". Throws DataError if
/// `path` is neither, is damaged or encrypted, holds links or paths that lead out of it, a file
/// above `kMaxFileBytes`, or in all more than 8 GiB or than 256 MiB and a hundred times its own
/// size.
[[nodiscard]] std::unique_ptr<FileTree> open_tree(const std::filesystem::path& path);

/// The archive half of it.
[[nodiscard]] std::unique_ptr<FileTree> open_archive(const std::filesystem::path& path);
/// The same with all that can be read of a damaged archive, or of one with members that
/// `open_archive` refuses: `problems` gets the others. A compressed one ends where it is damaged,
/// or a block of its compression before that, 64 KiB of gzip. Throws DataError, whose text does not
/// name it, if that is before the first member.
[[nodiscard]] std::unique_ptr<FileTree> open_archive(const std::filesystem::path& path,
                                                     std::vector<TreeProblem>& problems);

/// The bytes of a file. Throws DataError, whose text does not name it, also for more than
/// `kMaxFileBytes`.
[[nodiscard]] std::vector<std::uint8_t> read_file(const std::filesystem::path& path);

}  // namespace learn::data
