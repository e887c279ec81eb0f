#include "data/file_tree.h"
#include "framework/core/error.h"
#include "framework/core/regular_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = 8ULL << 30U;  // of all files together

/// What an archive of that size may unpack to: images and CIFAR's files hardly shrink, so whatever
/// grows a hundredfold is no data set.
std::uintmax_t allowed_bytes(std::uintmax_t archive_bytes) {
  constexpr std::uintmax_t kGrowth = 100;
  constexpr std::uintmax_t kFree = 256U << 20U;
  return std::min(kMaxBytes, kFree + kGrowth * std::min(archive_bytes, kMaxBytes));
}

using Bytes = std::vector<std::uint8_t>;
using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;

/// A gzip stream for libarchive, whose own filter does not compare the checksum at its end.
class GzipStream {
 public:
  explicit GzipStream(const RegularFile& file) : stream_(gzdopen(::dup(file.descriptor()), "rb")) {
    if (stream_ == nullptr) fail<DataError>("'{}' cannot be read", file.path().string());
  }
  ~GzipStream() { gzclose(stream_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  static bool holds(const RegularFile& file) {
    constexpr std::array<std::byte, 2> kMagic{std::byte{0x1F}, std::byte{0x8B}};
    std::array<std::byte, 2> start{};
    if (file.size() >= start.size()) file.read(0, start);
    return start == kMagic;
  }

  static la_ssize_t read(archive* reader, void* self, const void** block) {
    return static_cast<GzipStream*>(self)->next(reader, block);
  }

 private:
  la_ssize_t next(archive* reader, const void** block) {
    const int n = gzread(stream_, block_.data(), static_cast<unsigned>(block_.size()));
    int error = Z_OK;
    const char* why = gzerror(stream_, &error);
    // A stream that is cut off is told of with the last bytes that it has.
    if (n < 0 || error != Z_OK) {
      // zlib's text begins with a name of its own for the file: "<fd:3>: incorrect data check".
      const char* colon = std::strchr(why, ' ');
      archive_set_error(reader, EINVAL, "gzip:%s", colon == nullptr ? " damaged" : colon);
      return ARCHIVE_FATAL;
    }
    *block = block_.data();
    return n;
  }

  gzFile stream_;
  std::array<std::uint8_t, 64 << 10> block_{};
};

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
  /// `bad` may be null.
  ArchiveTree(const fs::path& where, std::vector<BadMember>* bad) : FileTree(where) {
    load(bad);
    enter_single_folder();
    if (bad == nullptr || root_.empty()) return;
    for (BadMember& member : *bad)
      if (below(member.path, root_)) member.path = member.path.lexically_relative(root_);
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
    return found->second;
  }

  [[nodiscard]] std::uintmax_t bytes(const fs::path& file) const override {
    const auto found = files_.find(at(file));
    return found == files_.end() ? 0 : found->second.size();
  }

  [[nodiscard]] bool same_folder(const fs::path& a, const fs::path& b) const override {
    return at(a) == at(b);
  }

 private:
  [[nodiscard]] fs::path at(const fs::path& path) const { return tidy(root_ / path); }

  [[noreturn]] void fail_archive(archive* reader,
                                 SourceLocation at = SourceLocation::current()) const {
    fail_from<DataError>(at,
                         "'{}' is neither a folder nor an archive that can be read (tar, zip): {}",
                         text(),
                         why(reader));
  }

  [[nodiscard]] static std::string why(archive* reader) {
    const char* const text = archive_error_string(reader);
    return text == nullptr ? "damaged" : text;
  }

  void load(std::vector<BadMember>* bad) {
    const RegularFile file(where());
    allowed_ = allowed_bytes(file.size());
    std::optional<GzipStream> gzip;
    if (GzipStream::holds(file)) gzip.emplace(file);
    const Reader reader(archive_read_new(), archive_read_free);
    // Not "all": that starts programs for some.
    for (const auto support : {archive_read_support_filter_bzip2,
                               archive_read_support_filter_xz,
                               archive_read_support_filter_zstd,
                               archive_read_support_format_tar,
                               archive_read_support_format_zip})
      support(reader.get());
    // Reads what follows the end mark of a tar archive too, and with it every checksum.
    archive_read_set_options(reader.get(), "tar:read_concatenated_archives");
    constexpr std::size_t kBlock = 64 << 10;
    const int opened =
        gzip ? archive_read_open(reader.get(), &*gzip, nullptr, GzipStream::read, nullptr)
             : archive_read_open_fd(reader.get(), file.descriptor(), kBlock);
    if (opened != ARCHIVE_OK) fail_archive(reader.get());
    archive_entry* entry = nullptr;
    int status = ARCHIVE_OK;
    // A warning says that a name does not fit the locale.
    while ((status = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK ||
           status == ARCHIVE_WARN)
      try_take(reader.get(), entry, bad);
    if (status == ARCHIVE_EOF) return;
    if (bad == nullptr || files_.empty()) fail_archive(reader.get());
    bad->push_back({{}, why(reader.get())});
  }

  void try_take(archive* reader, archive_entry* entry, std::vector<BadMember>* bad) {
    if (bad == nullptr) return take(reader, entry);
    const char* const name = archive_entry_pathname(entry);
    const fs::path path = name == nullptr ? fs::path("?") : tidy(name);
    try {
      take(reader, entry);
    } catch (const DataError& error) {
      if (total_ > allowed_) throw;  // whatever else it holds
      bad->push_back({path, error.what()});
    }
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
    if (!is_file) return;
    // Before it is unpacked, as far as that is known.
    check_size(path,
               static_cast<std::uintmax_t>(std::max<la_int64_t>(0, archive_entry_size(entry))));
    files_[path] = contents(reader, path);
  }

  void check_size(const fs::path& path, std::uintmax_t bytes) const {
    if (bytes > kMaxFileBytes)
      fail<DataError>("'{}' has more than {} MiB", text(path), kMaxFileBytes >> 20U);
  }

  Bytes contents(archive* reader, const fs::path& path) {
    Bytes bytes;
    std::array<std::uint8_t, 64 << 10> block;
    for (;;) {
      const la_ssize_t n = archive_read_data(reader, block.data(), block.size());
      if (n < 0) fail_archive(reader);
      if (n == 0) break;
      total_ += static_cast<std::uintmax_t>(n);
      if (total_ > allowed_)
        fail<DataError>(
            "'{}' unpacks to more than {} MiB, which is not expected of images: if it is right, "
            "unpack it and name the folder",
            text(),
            allowed_ >> 20U);
      bytes.insert(bytes.end(), block.begin(), block.begin() + n);
      check_size(path, bytes.size());
    }
    bytes.shrink_to_fit();
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
  std::uintmax_t allowed_ = 0;
  std::uintmax_t total_ = 0;
};

}  // namespace

std::unique_ptr<FileTree> open_archive(const fs::path& path, std::vector<BadMember>* bad) {
  return std::make_unique<ArchiveTree>(path, bad);
}

}  // namespace learn::data
