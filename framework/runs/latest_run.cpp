#include "framework/runs/latest_run.h"

#include "framework/core/log.h"
#include "framework/io/atomic_file.h"

#include <sys/types.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <string_view>
#include <system_error>

namespace learn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLatestStaging = ".latest";

/// Removes links that a killed process left; others may be at work in the same folder.
void sweep_links(const fs::path& root) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kLatestStaging) || !AtomicFile::is_temporary(name)) continue;
    pid_t owner = 0;
    std::from_chars(name.data() + name.rfind('.') + 1, name.data() + name.size(), owner);
    if (::kill(owner, 0) != 0 && errno == ESRCH) fs::remove(entry.path(), ignored);
  }
}

}  // namespace

void point_latest(const fs::path& root, const fs::path& run) {
  sweep_links(root);
  const fs::path staging =
      temporary_beside(root / fmt::format("{}.{}", kLatestStaging, run.filename().string()));
  std::error_code error;
  std::error_code ignored;
  fs::remove(staging, ignored);
  fs::create_symlink(run.filename(), staging, error);
  if (!error) fs::rename(staging, root / "latest", error);
  if (!error) return;
  fs::remove(staging, ignored);
  log::warn("[io] cannot make '{}' a link to '{}': {}",
            (root / "latest").string(),
            run.filename().string(),
            error.message());
}

fs::path latest_run(const fs::path& root) {
  std::error_code no_link;
  return fs::read_symlink(root / "latest", no_link);
}

}  // namespace learn
