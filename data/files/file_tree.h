#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace learn::data {

/// No image or part of a data set is larger.
inline constexpr std::uintmax_t kMaxFileBytes = 256U << 20U;

/// A file or more of a tree that cannot be had.
struct TreeProblem {
  std::filesystem::path path;  ///< in the tree; "": all that follows in an archive
  std::string why;             ///< goes with the path, which it does not name
  bool of_file = false;        ///< of the contents of one file only
};

/// What lies below a folder of a tree, in any depth, sorted by path.
struct TreeListing {
  std::vector<std::filesystem::path> files;
  /// What is neither a file nor a folder, with its kind (`PassedOver::kind`): links that lead
  /// nowhere or back to a folder above them, devices. One that has an image's name is among
  /// `files`: reading it says why it cannot be read.
  std::vector<TreeProblem> others;
  std::vector<TreeProblem> unreadable;  ///< folders
};

/// Files below a folder or in an archive. Paths are relative to its root, which is "". What systems
/// leave behind (`is_system_name`) is not there. What reads files later shares the ownership of it.
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
  /// Names of the folders in `folder`, sorted by bytes.
  [[nodiscard]] virtual std::vector<std::string> folders(
      const std::filesystem::path& folder) const = 0;
  [[nodiscard]] virtual TreeListing list(const std::filesystem::path& folder) const = 0;
  [[nodiscard]] std::vector<std::filesystem::path> files(
      const std::filesystem::path& folder) const {
    return list(folder).files;
  }
  /// Threads may read at the same time. Throws DataError, whose text need not name the file,
  /// also for more than `kMaxFileBytes`.
  [[nodiscard]] virtual std::vector<std::uint8_t> read(const std::filesystem::path& file) const = 0;
  /// The first `kFormatBytes` bytes (image_codec.h), fewer if it has no more; none if it cannot be
  /// read.
  [[nodiscard]] virtual std::vector<std::uint8_t> start_of(
      const std::filesystem::path& file) const = 0;
  /// The size of a file, 0 if that cannot be told.
  [[nodiscard]] virtual std::uintmax_t bytes(const std::filesystem::path& file) const = 0;

  /// How messages call a file or folder.
  [[nodiscard]] std::string text(const std::filesystem::path& path = {}) const {
    return path.empty() ? where_.string() : (where_ / path).string();
  }

 protected:
  [[nodiscard]] const std::filesystem::path& where() const { return where_; }

 private:
  std::filesystem::path where_;
};

/// A folder as it lies, links to files and folders followed; or a zip archive or a tar archive
/// (plain, gzip, bzip2, xz or zstd), whose files come into memory. Nothing is unpacked to disk. A
/// single folder at the top of an archive is left out of paths unless its name means a part
/// (`part_named`). Names are UTF-8 in any locale. Throws DataError if `path` is neither, is damaged
/// or encrypted, holds links or paths that lead out of it, a file above `kMaxFileBytes`, or in all
/// more than 8 GiB or than 256 MiB and a hundred times its own size.
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
/// The same as `decoded_text`. Throws DataError that names the file.
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

}  // namespace learn::data
