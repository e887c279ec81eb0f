#include "data/files/file_tree.h"
#include "data/files/gzip_stream.h"
#include "data/images/image_codec.h"
#include "data/names/names.h"
#include "framework/core/error.h"
#include "framework/core/regular_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/core.h>
#include <locale.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxBytes = 8ULL << 30U;  // of all files together

std::string too_large() { return fmt::format("is larger than {} MiB", kMaxFileBytes >> 20U); }

/// Returns the limit on the unpacked size of an archive. Images and CIFAR's files compress badly,
/// so an archive that grows a hundredfold is not a data set.
std::uintmax_t allowed_bytes(std::uintmax_t archive_bytes) {
  constexpr std::uintmax_t kGrowth = 100;
  constexpr std::uintmax_t kFree = 256U << 20U;
  return std::min(kMaxBytes, kFree + kGrowth * std::min(archive_bytes, kMaxBytes));
}

using Bytes = std::vector<std::uint8_t>;
using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;

/// Returns whether a file, or a folder above it, was created by an operating system.
bool of_system(const fs::path& path) {
  return std::any_of(
      path.begin(), path.end(), [](const fs::path& part) { return is_system_name(part.string()); });
}

/// Makes libarchive use UTF-8 for names in this thread in any user locale: it converts names to the
/// charset of the locale, and C supports only ASCII.
class Utf8Names {
 public:
  Utf8Names() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = ::uselocale(locale_);
  }
  ~Utf8Names() {
    if (locale_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(locale_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t locale_;
  locale_t before_ = nullptr;
};

/// Returns "a/b" for both "./a//b/" and "a/b".
fs::path tidy(const fs::path& path) {
  fs::path clean = path.lexically_normal();
  if (!clean.has_filename()) clean = clean.parent_path();
  return clean == "." ? fs::path{} : clean;
}

/// Returns whether `path` is below `folder`, at any depth.
bool below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
             folder.end() &&
         path != folder;
}

class ArchiveTree : public FileTree {
 public:
  ArchiveTree(const fs::path& where, std::vector<TreeProblem>* problems)
      : FileTree(where), problems_(problems) {
    const Utf8Names names;
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

  [[nodiscard]] TreeListing list(const fs::path& folder) const override {
    const fs::path top = at(folder);
    const auto in_tree = [&](const fs::path& path) {
      return root_.empty() ? path : path.lexically_relative(root_);
    };
    TreeListing found;
    for (auto file = files_.upper_bound(top); file != files_.end() && below(file->first, top);
         ++file)
      found.files.push_back(in_tree(file->first).native());
    for (const fs::path& special : specials_)
      if (below(special, top)) found.others.push_back({in_tree(special), "special"});
    return found;
  }

  [[nodiscard]] Bytes start_of(const fs::path& file) const override {
    const auto found = files_.find(at(file));
    if (found == files_.end()) return {};
    const Bytes& all = found->second;
    const auto size = static_cast<std::ptrdiff_t>(std::min(all.size(), kFormatBytes));
    return {all.begin(), all.begin() + size};
  }

  [[nodiscard]] Bytes read(const fs::path& file) const override {
    const auto found = files_.find(at(file));
    if (found == files_.end()) fail<DataError>("it is not in the archive");
    return found->second;
  }

  [[nodiscard]] std::uintmax_t bytes(const fs::path& file) const override {
    const auto found = files_.find(at(file));
    return found == files_.end() ? 0 : found->second.size();
  }

 private:
  [[nodiscard]] fs::path at(const fs::path& path) const { return tidy(root_ / path); }

  static std::string damage(archive* reader) {
    const char* why = archive_error_string(reader);
    return why == nullptr ? "damaged" : why;
  }

  [[noreturn]] void fail_archive(archive* reader,
                                 SourceLocation at = SourceLocation::current()) const {
    fail_from<DataError>(at,
                         "'{}' is neither a folder nor a readable archive (tar, zip): {}",
                         text(),
                         damage(reader));
  }

  /// Continues without a member if problems are collected.
  void refuse(const fs::path& member,
              const std::string& why,
              bool of_file = false,
              SourceLocation at = SourceLocation::current()) {
    if (problems_ == nullptr) fail_from<DataError>(at, "'{}/{}' {}", text(), member.string(), why);
    problems_->push_back({member, why, of_file});
  }

  void load() {
    const RegularFile file(where());
    allowed_ = allowed_bytes(file.size());
    std::optional<GzipStream> gzip;
    if (GzipStream::holds(file)) gzip.emplace(file);
    const Reader reader(archive_read_new(), archive_read_free);
    // Not "all", which starts external programs for some filters.
    for (const auto support : {archive_read_support_filter_bzip2,
                               archive_read_support_filter_xz,
                               archive_read_support_filter_zstd,
                               archive_read_support_format_tar,
                               archive_read_support_format_zip})
      support(reader.get());
    // Also reads past the end mark of a tar archive, and so verifies every checksum.
    archive_read_set_options(reader.get(), "tar:read_concatenated_archives");
    constexpr std::size_t kBlock = 64 << 10;
    const int opened =
        gzip ? archive_read_open(reader.get(), &*gzip, nullptr, GzipStream::read, nullptr)
             : archive_read_open_fd(reader.get(), file.descriptor(), kBlock);
    if (opened != ARCHIVE_OK) return lose_rest(reader.get());
    archive_entry* entry = nullptr;
    while (!ended_) {
      const int status = archive_read_next_header(reader.get(), &entry);
      if (status == ARCHIVE_EOF) return;
      // A warning may say that a name does not fit the locale.
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return lose_rest(reader.get());
      take(reader.get(), entry);
    }
  }

  void lose_rest(archive* reader) {
    if (problems_ == nullptr) fail_archive(reader);
    if (last_.empty()) fail<DataError>("{}", damage(reader));
    problems_->push_back(
        {{}, fmt::format("the part after '{}' cannot be read: {}", last_, damage(reader))});
  }

  void take(archive* reader, archive_entry* entry) {
    const char* name = archive_entry_pathname_utf8(entry);
    if (name == nullptr) name = archive_entry_pathname(entry);
    if (name == nullptr)
      return refuse("?",
                    fmt::format("has a name that is not text; it comes {}: create the archive "
                                "again with names in UTF-8",
                                last_.empty() ? "first" : "after '" + last_ + "'"));
    const fs::path path = tidy(name);
    last_ = name;
    if (path.is_absolute() || (!path.empty() && *path.begin() == ".."))
      return refuse(name, "points outside the archive");
    if (of_system(path)) return;
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_filetype(entry) == AE_IFLNK)
      return refuse(path, "is a link: unpack the archive and name the folder");
    const bool is_file = archive_entry_filetype(entry) == AE_IFREG;
    if (!is_file && archive_entry_filetype(entry) != AE_IFDIR) {
      specials_.insert(path);
      return;
    }
    // All parent folders are stored, and a name of 64 kB may have 32,000.
    constexpr std::ptrdiff_t kMaxDepth = 100;
    if (std::distance(path.begin(), path.end()) > kMaxDepth)
      return refuse(path, fmt::format("is more than {} folders deep", kMaxDepth));
    for (fs::path folder = is_file ? path.parent_path() : path;; folder = folder.parent_path()) {
      folders_.insert(folder);
      if (folder.empty()) break;
    }
    if (is_file) take_file(reader, path, archive_entry_size(entry));
  }

  void take_file(archive* reader, const fs::path& path, la_int64_t size_in_header) {
    const auto size = static_cast<std::uintmax_t>(std::max<la_int64_t>(0, size_in_header));
    if (size > kMaxFileBytes) {
      refuse(path, too_large(), true);
      return add_to_total(path, size);  // it may have to be unpacked to reach the next one
    }
    Bytes bytes;
    std::array<std::uint8_t, 64 << 10> block;
    for (;;) {
      const la_ssize_t n = archive_read_data(reader, block.data(), block.size());
      if (n < 0) return lose(reader, path, n == ARCHIVE_FATAL);
      if (n == 0) break;
      add_to_total(path, static_cast<std::uintmax_t>(n));
      if (ended_) return;
      bytes.insert(bytes.end(), block.begin(), block.begin() + n);
      if (bytes.size() > kMaxFileBytes) {
        ended_ = true;
        return refuse(path, too_large() + "; it and the rest of the archive are not read");
      }
    }
    bytes.shrink_to_fit();
    files_[path] = std::move(bytes);
  }

  void add_to_total(const fs::path& path, std::uintmax_t bytes) {
    total_ += std::min(bytes, 2 * kMaxBytes);
    if (total_ <= allowed_) return;
    const std::string why = fmt::format(
        "unpacks to more than {} MiB, which is not expected of images: if this is correct, unpack "
        "it and name the folder",
        allowed_ >> 20U);
    if (problems_ == nullptr) fail<DataError>("'{}' {}", text(), why);
    ended_ = true;
    problems_->push_back({path, "and the files after it are not read: the archive " + why});
  }

  void lose(archive* reader, const fs::path& path, bool fatal) {
    if (problems_ == nullptr) fail_archive(reader);
    // Members of a zip archive do not depend on each other.
    ended_ = fatal && (archive_format(reader) & ARCHIVE_FORMAT_BASE_MASK) != ARCHIVE_FORMAT_ZIP;
    problems_->push_back({path,
                          fmt::format("cannot be read{}: {}",
                                      ended_ ? ", as well as the rest of the archive" : "",
                                      damage(reader)),
                          !ended_});
  }

  /// Enters the single top-level folder that most archives have, named like the archive.
  void enter_single_folder() {
    const std::vector<std::string> top = folders({});
    const bool files_at_top = std::any_of(files_.begin(), files_.end(), [](const auto& file) {
      return file.first.parent_path().empty();
    });
    if (top.size() != 1 || files_at_top || part_named(top[0]) != Part::unsaid) return;
    root_ = top[0];
    if (problems_ == nullptr) return;
    for (TreeProblem& problem : *problems_)
      if (below(tidy(problem.path), root_)) problem.path = problem.path.lexically_relative(root_);
  }

  fs::path root_;
  std::set<fs::path> folders_{fs::path{}};
  std::map<fs::path, Bytes> files_;
  std::set<fs::path> specials_;  ///< devices and the like
  std::uintmax_t allowed_ = 0;
  std::uintmax_t total_ = 0;
  std::string last_;                    ///< member whose header was read
  bool ended_ = false;                  ///< nothing more can be read
  std::vector<TreeProblem>* problems_;  ///< null: every problem is an error
};

}  // namespace

std::unique_ptr<FileTree> open_archive(const fs::path& path) {
  return std::make_unique<ArchiveTree>(path, nullptr);
}

std::unique_ptr<FileTree> open_archive(const fs::path& path, std::vector<TreeProblem>& problems) {
  return std::make_unique<ArchiveTree>(path, &problems);
}

}  // namespace learn::data
