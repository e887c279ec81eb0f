#include "data/files/file_tree.h"

#include "data/images/image_codec.h"
#include "data/names/names.h"
#include "data/names/unicode.h"
#include "framework/core/error.h"
#include "framework/core/regular_file.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

/// An entry of a folder. Names are strings, because a set may have millions of them and
/// std::filesystem::path divides each into its parts.
struct Entry {
  std::string name;
  fs::file_type type = fs::file_type::unknown;  ///< of the entry, not of a link's target
};

fs::file_type type_of(const dirent& entry) {
  switch (entry.d_type) {
    case DT_REG:
      return fs::file_type::regular;
    case DT_DIR:
      return fs::file_type::directory;
    default:
      return fs::file_type::unknown;
  }
}

/// Returns the entries of a folder that no system created, sorted by bytes, until an error.
std::vector<Entry> entries_of(const std::string& folder, std::error_code& error) {
  std::vector<Entry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
  errno = open == nullptr ? errno : 0;
  while (const dirent* const entry = open == nullptr ? nullptr : ::readdir(open.get())) {
    if (!is_system_name(entry->d_name)) entries.push_back({entry->d_name, type_of(*entry)});
    errno = 0;
  }
  error.assign(errno, std::generic_category());
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

/// Lists a folder. One folder is open at a time.
class FolderWalk {
 public:
  explicit FolderWalk(const fs::path& top) : top_(top.native()) {}

  TreeListing listing(const fs::path& folder) {
    std::error_code error;
    const fs::path real = fs::canonical(path_below(top_, folder), error);
    visit(folder.native(), real.native());
    return std::move(found_);
  }

 private:
  /// `real`: the folder's path without links.
  void visit(const std::string& folder, const std::string& real) {
    std::error_code error;
    const std::vector<Entry> entries = entries_of(path_below(top_, folder), error);
    if (error) found_.unreadable.push_back({folder, error.message()});
    above_.push_back(real);
    // The order of their names yields files sorted by path.
    for (const Entry& entry : entries) {
      std::string path = path_below(folder, entry.name);
      if (entry.type == fs::file_type::regular)
        found_.files.push_back(std::move(path));
      else
        take(path, entry, real);
    }
    above_.pop_back();
  }

  void take(const std::string& path, const Entry& entry, const std::string& real) {
    std::error_code error;
    const fs::path full = path_below(top_, path);
    if (entry.type == fs::file_type::directory || fs::is_directory(full, error)) {
      const std::string target = fs::is_symlink(full, error) ? fs::canonical(full, error).native()
                                                             : path_below(real, entry.name);
      if (std::ranges::find(above_, target) == above_.end()) return visit(path, target);
      found_.others.push_back({path, "link to a parent folder"});
    } else if (fs::is_regular_file(full, error) || has_image_name(path)) {
      found_.files.push_back(path);
    } else if (fs::is_symlink(full, error)) {
      found_.others.push_back({path, "broken link"});
    } else {
      found_.others.push_back({path, "special"});
    }
  }

  std::string top_;
  std::vector<std::string> above_;  ///< real paths of the folders that are being visited
  TreeListing found_;
};

class FolderTree : public FileTree {
 public:
  using FileTree::FileTree;

  [[nodiscard]] std::string name() const override {
    return fs::absolute(where() / ".").lexically_normal().parent_path().filename().string();
  }

  [[nodiscard]] bool has_folder(const fs::path& folder) const override {
    std::error_code error;
    return fs::is_directory(where() / folder, error);
  }

  [[nodiscard]] bool has_file(const fs::path& file) const override {
    std::error_code error;
    return fs::exists(where() / file, error);
  }

  [[nodiscard]] std::vector<std::string> folders(const fs::path& folder) const override {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(where() / folder)) {
      const std::string name = entry.path().filename().string();
      std::error_code ignored;
      if (entry.is_directory(ignored) && !is_system_name(name)) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  [[nodiscard]] TreeListing list(const fs::path& folder) const override {
    return FolderWalk(where()).listing(folder);
  }

  [[nodiscard]] std::vector<std::uint8_t> start_of(const fs::path& file) const override {
    try {
      const RegularFile opened(where() / file, "it");
      std::vector<std::uint8_t> bytes(std::min<std::size_t>(opened.size(), kFormatBytes));
      opened.read(0, std::as_writable_bytes(std::span(bytes)));
      return bytes;
    } catch (const IoError&) {
      return {};
    }
  }

  [[nodiscard]] std::vector<std::uint8_t> read(const fs::path& file) const override {
    return read_file(where() / file);
  }

  [[nodiscard]] std::uintmax_t bytes(const fs::path& file) const override {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(where() / file, error);
    return error ? 0 : size;
  }
};

}  // namespace

std::string path_below(const std::string& folder, const std::string& path) {
  if (folder.empty() || path.starts_with('/')) return path;
  if (path.empty()) return folder;
  std::string joined;
  joined.reserve(folder.size() + 1 + path.size());
  joined += folder;
  if (!folder.ends_with('/')) joined += '/';
  return joined += path;
}

std::vector<std::uint8_t> read_file(const fs::path& path) {
  try {
    const RegularFile opened(path, "it");
    if (opened.size() > kMaxFileBytes)
      fail<DataError>("{} bytes; at most {} are read", opened.size(), kMaxFileBytes);
    std::vector<std::uint8_t> bytes(opened.size());
    opened.read(0, std::as_writable_bytes(std::span(bytes)));
    return bytes;
  } catch (const IoError& error) {
    fail<DataError>("{}", error.what());
  }
}

std::string read_text(const fs::path& path) {
  try {
    return decoded_text(read_file(path));
  } catch (const DataError& error) {
    fail<DataError>("'{}': {}", path.string(), error.what());
  }
}

std::unique_ptr<FileTree> open_tree(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return open_archive(path);
  if (!fs::is_directory(path, error))
    fail<DataError>("folder or archive '{}' does not exist", path.string());
  return std::make_unique<FolderTree>(path);
}

}  // namespace learn::data
