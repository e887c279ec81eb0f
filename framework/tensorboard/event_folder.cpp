#include "framework/tensorboard/event_folder.h"

#include "framework/core/error.h"
#include "framework/core/host_name.h"
#include "framework/core/log.h"
#include "framework/io/file_system.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace learn::tensorboard {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "events.out.tfevents.";

std::vector<std::string> event_files(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kBegin)) names.push_back(name);
  }
  if (error && error != std::errc::no_such_file_or_directory)
    fail<IoError>("cannot list '{}': {}", folder.string(), error.message());
  return names;
}

/// Returns the seconds in a name; 0 if the name has another form, or they exceed ten digits.
std::int64_t seconds_in(std::string_view name) {
  constexpr std::int64_t kTenDigits = 9'999'999'998;
  std::int64_t seconds = 0;
  (void)std::from_chars(name.data() + kBegin.size(), name.data() + name.size(), seconds);
  return seconds > 0 && seconds <= kTenDigits ? seconds : 0;
}

/// Returns the host's name, as far as it may be in the name of a file.
std::string host_in_names() {
  std::string name = host_name();
  std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; });
  return name.empty() ? "localhost" : name;
}

void sync(const fs::path& folder) {
  if (disk().sync_folder(folder) != 0)
    fail<IoError>("cannot sync '{}': {}", folder.string(), std::strerror(errno));
}

}  // namespace

fs::path new_event_file(const fs::path& folder) {
  make_folders(folder);
  const std::vector<std::string> there = event_files(folder);
  std::int64_t seconds = std::time(nullptr);
  for (const std::string& name : there) seconds = std::max(seconds, seconds_in(name) + 1);
  return folder /
         fmt::format(
             "{}{:010}.{}.{}.{}", kBegin, seconds, host_in_names(), ::getpid(), there.size());
}

void set_former_events_aside(const fs::path& folder) {
  const std::vector<std::string> names = event_files(folder);
  if (names.empty()) return;
  int number = 1;
  while (!make_folder(folder / fmt::format("former-{}", number))) ++number;
  const fs::path former = folder / fmt::format("former-{}", number);
  for (const std::string& name : names) {
    std::error_code error;
    fs::rename(folder / name, former / name, error);
    if (error)
      fail<IoError>("cannot move '{}' to '{}': {}",
                    (folder / name).string(),
                    former.string(),
                    error.message());
  }
  sync(former);
  sync(folder);
  log::info("[tensorboard] the events of an earlier training are now in '{}'", former.string());
}

}  // namespace learn::tensorboard
