#include "framework/io/output_place.h"

#include "framework/core/error.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace learn {
namespace {

namespace fs = std::filesystem;

/// Linux's limit.
constexpr int kMaxLinks = 40;

/// N for "/dev/fd/N" and any other link to this process's folder of descriptors.
std::optional<int> descriptor_of(const fs::path& link) {
  std::error_code ignored;
  if (!fs::equivalent(link.parent_path(), "/proc/self/fd", ignored)) return std::nullopt;
  const std::string name = link.filename().string();
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

struct Found {
  fs::path path;
  bool is_stream = false;
  std::optional<int> descriptor{};
};

/// `target` with its links followed, and the kind of file there.
Found find_output(const fs::path& target) {
  if (!target.has_filename())
    fail<IoError>("cannot write '{}': give the name of a file", target.string());
  Found found{target};
  std::error_code none;
  for (int links = 0; fs::is_symlink(fs::symlink_status(found.path, none)); ++links) {
    if (links == kMaxLinks)
      fail<IoError>("cannot write '{}': {}", target.string(), std::strerror(ELOOP));
    found.descriptor = descriptor_of(found.path);
    if (found.descriptor) return found;
    // An absolute link replaces the whole path.
    found.path = found.path.parent_path() / fs::read_symlink(found.path, none);
  }
  const fs::file_type type = fs::status(found.path, none).type();
  if (type == fs::file_type::directory)
    fail<IoError>("cannot write '{}': it is a folder; give the name of a file", target.string());
  if (type == fs::file_type::block || type == fs::file_type::socket)
    fail<IoError>("cannot write '{}': it is a {}; give the name of a file",
                  target.string(),
                  type == fs::file_type::block ? "block device" : "socket");
  found.is_stream = type == fs::file_type::character || type == fs::file_type::fifo;
  return found;
}

}  // namespace

OutputPlace open_output(const fs::path& target) {
  const Found found = find_output(target);
  OutputPlace place{found.path};
  if (!found.descriptor && !found.is_stream) return place;
  // A repeated call after EINTR would keep Ctrl-C from ending the wait for a FIFO's reader.
  place.stream = found.descriptor ? ::fcntl(*found.descriptor, F_DUPFD_CLOEXEC, 0)
                                  : ::open(found.path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (place.stream < 0)
    fail<IoError>("cannot open '{}': {}", target.string(), std::strerror(errno));
  return place;
}

fs::path check_output(const fs::path& target) {
  Found found = find_output(target);
  if (found.descriptor) return found.path;
  const fs::path folder = found.path.has_parent_path() ? found.path.parent_path() : ".";
  if (std::error_code error; !fs::is_directory(folder, error))
    fail<IoError>(
        "cannot write '{}': the folder '{}' does not exist", target.string(), folder.string());
  return std::move(found.path);
}

}  // namespace learn
