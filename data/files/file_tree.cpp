#include "data/files/file_tree.h"

#include "data/images/image_codec.h"
#include "data/names/names.h"
#include "data/names/unicode.h"
#include "framework/core/error.h"
#include "framework/core/regular_file.h"

#include <algorithm>
#include <span>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

/// Lists a folder. One folder is open at a time.
class FolderWalk {
 public:
  explicit FolderWalk(fs::path top) : top_(std::move(top)) {}

  TreeListing listing(const fs::path& folder) {
    std::error_code error;
    const fs::path real = fs::canonical(top_ / folder, error);
    visit(folder, real);
    return std::move(found_);
  }

 private:
  /// `real`: the folder's path without links.
  void visit(const fs::path& folder, const fs::path& real) {
    std::error_code error;
    std::vector<std::pair<std::string, fs::directory_entry>> entries;
    for (fs::directory_iterator at(top_ / folder, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
      std::string name = at->path().filename().string();
      if (!is_system_name(name)) entries.emplace_back(std::move(name), *at);
    }
    if (error) found_.unreadable.push_back({folder, error.message()});
    // This order yields files sorted by path.
    std::ranges::sort(
        entries, {}, [](const auto& entry) -> const std::string& { return entry.first; });
    above_.push_back(real);
    for (const auto& [name, entry] : entries) take(folder / name, entry, real);
    above_.pop_back();
  }

  void take(const fs::path& path, const fs::directory_entry& entry, const fs::path& real) {
    std::error_code error;
    if (entry.is_directory(error)) {
      const fs::path target =
          entry.is_symlink(error) ? fs::canonical(entry.path(), error) : real / path.filename();
      if (std::ranges::find(above_, target) == above_.end()) return visit(path, target);
      found_.others.push_back({path, "link to a parent folder"});
    } else if (entry.is_regular_file(error) || has_image_name(path)) {
      found_.files.push_back(path);
    } else if (entry.is_symlink(error)) {
      found_.others.push_back({path, "broken link"});
    } else {
      found_.others.push_back({path, "special"});
    }
  }

  fs::path top_;
  std::vector<fs::path> above_;  ///< real paths of the folders that are being visited
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
