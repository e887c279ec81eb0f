#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace learn::data {

/// Size limit of an image, and of a part of a data set.
inline constexpr std::uintmax_t kMaxFileBytes = 256U << 20U;

/// Joins two paths as `std::filesystem::path` does. Files of a set are strings: a path object
/// divides its name into parts each time, which takes most of the time to list a million files.
[[nodiscard]] std::string path_below(const std::string& folder, const std::string& path);

/// One or more unreadable files of a tree.
struct TreeProblem {
  std::filesystem::path path;  ///< in the tree; "" for the rest of an archive
  std::string why;             ///< to be shown with the path, which it does not repeat
  bool of_file = false;        ///< affects the contents of this file only
};

/// The content of a folder of a tree, at any depth, sorted by path.
struct TreeListing {
  std::vector<std::string> files;
  /// Entries that are neither files nor folders, with their kind (`PassedOver::kind`): broken
  /// links, links back to a folder above them, devices. An entry with an image's name is among
  /// `files`; reading it reports the error.
  std::vector<TreeProblem> others;
  std::vector<TreeProblem> unreadable;  ///< folders
};

/// Files below a folder or in an archive. Paths are relative to its root, which is "". Files that
/// systems create (`is_system_name`) are hidden. Objects that read files later share ownership of
/// the tree.
class FileTree : public std::enable_shared_from_this<FileTree> {
 public:
  explicit FileTree(std::filesystem::path where) : where_(std::move(where)) {}
  virtual ~FileTree() = default;
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;

  /// Name of the folder, or of the archive without ".tar.gz" and the like.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual bool has_folder(const std::filesystem::path& folder) const = 0;
  [[nodiscard]] virtual bool has_file(const std::filesystem::path& file) const = 0;
  /// Returns the names of the folders in `folder`, sorted by bytes.
  [[nodiscard]] virtual std::vector<std::string> folders(
      const std::filesystem::path& folder) const = 0;
  [[nodiscard]] virtual TreeListing list(const std::filesystem::path& folder) const = 0;
  [[nodiscard]] std::vector<std::string> files(const std::filesystem::path& folder) const {
    return list(folder).files;
  }
  /// Reads a file. Thread-safe. Throws DataError, whose text need not name the file, also for more
  /// than `kMaxFileBytes`.
  [[nodiscard]] virtual std::vector<std::uint8_t> read(const std::filesystem::path& file) const = 0;
  /// Returns the first `kFormatBytes` bytes (image_codec.h), fewer if the file is shorter, none if
  /// it cannot be read.
  [[nodiscard]] virtual std::vector<std::uint8_t> start_of(
      const std::filesystem::path& file) const = 0;
  /// Returns the size of a file, 0 if it cannot be determined.
  [[nodiscard]] virtual std::uintmax_t bytes(const std::filesystem::path& file) const = 0;

  /// Returns the text for a file or folder in messages.
  [[nodiscard]] std::string text(const std::string& path = {}) const {
    return path_below(where_.native(), path);
  }

 protected:
  [[nodiscard]] const std::filesystem::path& where() const { return where_; }

 private:
  std::filesystem::path where_;
};

/// Opens a folder, following links to files and folders, or a zip archive or a tar archive (plain,
/// gzip, bzip2, xz or zstd), whose files are read into memory. Nothing is unpacked to disk. A
/// single top-level folder of an archive is omitted from paths unless its name means a part
/// (`part_named`). Names are UTF-8 in any locale. Throws DataError if `path` is neither, is damaged
/// or encrypted, holds links or paths that lead out of it, a file above `kMaxFileBytes`, or in all
/// more than 8 GiB or more than 256 MiB plus a hundred times its own size.
[[nodiscard]] std::unique_ptr<FileTree> open_tree(const std::filesystem::path& path);

/// Opens an archive, as `open_tree` does.
[[nodiscard]] std::unique_ptr<FileTree> open_archive(const std::filesystem::path& path);
/// Opens all readable members of a damaged archive, or of one with members that `open_archive`
/// refuses; the others go to `problems`. A compressed archive ends where it is damaged, or one
/// compression block earlier, 64 KiB of gzip. Throws DataError, whose text does not name the
/// archive, if the damage is before the first member.
[[nodiscard]] std::unique_ptr<FileTree> open_archive(const std::filesystem::path& path,
                                                     std::vector<TreeProblem>& problems);

/// Returns the bytes of a file. Throws DataError, whose text does not name it, also for more than
/// `kMaxFileBytes`.
[[nodiscard]] std::vector<std::uint8_t> read_file(const std::filesystem::path& path);
/// Returns the bytes of a file as `decoded_text`. Throws DataError that names the file.
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

}  // namespace learn::data
