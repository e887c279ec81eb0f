#include "data/file_tree.h"
#include "framework/core/error.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = 8ULL << 30U;  // of all files together

using Bytes = std::vector<std::uint8_t>;
using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;

bool hidden(const fs::path& path) {
  return std::any_of(path.begin(), path.end(), [](const fs::path& part) {
    return part.string().starts_with('.');
  });
}

/// "./a//b/" and "a/b" are one path.
fs::path tidy(const fs::path& path) {
  fs::path clean = path.lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();
  return clean == "." ? fs::path{} : clean;
}

/// Whether `path` lies below `folder`, at any depth.
bool below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
             folder.end() &&
         path != folder;
}

class ArchiveTree : public FileTree {
 public:
  explicit ArchiveTree(const fs::path& where) : FileTree(where) {
    load();
    enter_single_folder();
  }

  [[nodiscard]] std::string name() const override {
    fs::path name = where().filename().stem();
    return (name.extension() == ".tar" ? name.stem() : name).string();
  }

  [[nodiscard]] bool has_folder(const fs::path& folder) const override {
    return folders_.contains(at(folder));
  }

  [[nodiscard]] bool has_file(const fs::path& file) const override {
    return files_.contains(at(file));
  }

  [[nodiscard]] std::vector<std::string> folders(const fs::path& folder) const override {
    const fs::path top = at(folder);
    std::vector<std::string> names;
    for (const fs::path& path : folders_)
      if (!path.empty() && path.parent_path() == top) names.push_back(path.filename().string());
    return names;
  }

  [[nodiscard]] std::vector<fs::path> files(const fs::path& folder) const override {
    const fs::path top = at(folder);
    std::vector<fs::path> found;
    for (auto file = files_.upper_bound(top); file != files_.end() && below(file->first, top);
         ++file)
      found.push_back(root_.empty() ? file->first : file->first.lexically_relative(root_));
    return found;
  }

  [[nodiscard]] Bytes read(const fs::path& file) const override {
    const auto found = files_.find(at(file));
    if (found == files_.end()) fail<DataError>("the archive does not have it");
    check_size(found->second.size());
    return found->second;
  }

  [[nodiscard]] bool same_folder(const fs::path& a, const fs::path& b) const override {
    return at(a) == at(b);
  }

 private:
  [[nodiscard]] fs::path at(const fs::path& path) const { return tidy(root_ / path); }

  [[noreturn]] void fail_archive(archive* reader) const {
    const char* why = archive_error_string(reader);
    fail<DataError>("'{}' is neither a folder nor an archive that can be read (tar, zip): {}",
                    text(),
                    why == nullptr ? "damaged" : why);
  }

  void load() {
    const Reader reader(archive_read_new(), archive_read_free);
    // Not "all": that starts programs for some.
    for (const auto support : {archive_read_support_filter_gzip,
                               archive_read_support_filter_bzip2,
                               archive_read_support_filter_xz,
                               archive_read_support_filter_zstd})
      support(reader.get());
    archive_read_support_format_tar(reader.get());
    archive_read_support_format_zip(reader.get());
    constexpr std::size_t kBlock = 64 << 10;
    if (archive_read_open_filename(reader.get(), where().c_str(), kBlock) != ARCHIVE_OK)
      fail_archive(reader.get());
    archive_entry* entry = nullptr;
    int status = ARCHIVE_OK;
    // A warning says that a name does not fit the locale.
    while ((status = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK ||
           status == ARCHIVE_WARN)
      take(reader.get(), entry);
    if (status != ARCHIVE_EOF) fail_archive(reader.get());
  }

  void take(archive* reader, archive_entry* entry) {
    const char* name = archive_entry_pathname_utf8(entry);
    if (name == nullptr) name = archive_entry_pathname(entry);
    if (name == nullptr) fail<DataError>("'{}' holds a file without a readable name", text());
    const fs::path path = tidy(name);
    if (path.is_absolute() || (!path.empty() && *path.begin() == ".."))
      fail<DataError>("'{}' holds '{}', which leads out of it", text(), name);
    if (hidden(path)) return;
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_filetype(entry) == AE_IFLNK)
      fail<DataError>("'{}' holds a link, '{}': unpack it and name the folder", text(), name);
    const bool is_file = archive_entry_filetype(entry) == AE_IFREG;
    if (!is_file && archive_entry_filetype(entry) != AE_IFDIR) return;
    for (fs::path folder = is_file ? path.parent_path() : path;; folder = folder.parent_path()) {
      folders_.insert(folder);
      if (folder.empty()) break;
    }
    if (is_file) files_[path] = contents(reader);
  }

  Bytes contents(archive* reader) {
    Bytes bytes;
    std::array<std::uint8_t, 64 << 10> block;
    for (;;) {
      const la_ssize_t n = archive_read_data(reader, block.data(), block.size());
      if (n < 0) fail_archive(reader);
      if (n == 0) break;
      total_ += static_cast<std::uintmax_t>(n);
      if (total_ > kMaxBytes)
        fail<DataError>(
            "'{}' holds more than {} GiB: unpack it and name the folder", text(), kMaxBytes >> 30U);
      bytes.insert(bytes.end(), block.begin(), block.begin() + n);
    }
    return bytes;
  }

  /// Most archives have one folder at the top, called like the archive.
  void enter_single_folder() {
    const std::vector<std::string> top = folders({});
    const bool files_at_top = std::any_of(files_.begin(), files_.end(), [](const auto& file) {
      return file.first.parent_path().empty();
    });
    if (top.size() == 1 && !files_at_top && top[0] != "train") root_ = top[0];
  }

  fs::path root_;
  std::set<fs::path> folders_{fs::path{}};
  std::map<fs::path, Bytes> files_;
  std::uintmax_t total_ = 0;
};

}  // namespace

std::unique_ptr<FileTree> open_archive(const fs::path& path) {
  return std::make_unique<ArchiveTree>(path);
}

}  // namespace learn::data
