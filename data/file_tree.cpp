#include "data/file_tree.h"

#include "framework/core/error.h"
#include "framework/core/regular_file.h"

#include <algorithm>
#include <span>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

bool hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

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
    for (const fs::directory_entry& entry : fs::directory_iterator(where() / folder))
      if (entry.is_directory() && !hidden(entry.path()))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  /// Links to folders are not followed: they may loop.
  [[nodiscard]] std::vector<fs::path> files(const fs::path& folder) const override {
    const fs::path top = where() / folder;
    std::vector<fs::path> found;
    for (auto at = fs::recursive_directory_iterator(top); at != fs::recursive_directory_iterator();
         ++at) {
      if (hidden(at->path()))
        at.disable_recursion_pending();
      else if (at->is_regular_file())
        found.push_back(folder / at->path().lexically_relative(top));
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  [[nodiscard]] std::vector<std::uint8_t> read(const fs::path& file) const override {
    return read_file(where() / file);
  }

  [[nodiscard]] std::uintmax_t bytes(const fs::path& file) const override {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(where() / file, error);
    return error ? 0 : size;
  }

  [[nodiscard]] bool same_folder(const fs::path& a, const fs::path& b) const override {
    return fs::weakly_canonical(where() / a) == fs::weakly_canonical(where() / b);
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

std::unique_ptr<FileTree> open_tree(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return open_archive(path);
  if (!fs::is_directory(path, error))
    fail<DataError>("there is no folder or archive '{}'", path.string());
  return std::make_unique<FolderTree>(path);
}

}  // namespace learn::data
