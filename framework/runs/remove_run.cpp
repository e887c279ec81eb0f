#include "framework/runs/remove_run.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/runs/folder_lock.h"
#include "framework/runs/latest_run.h"
#include "framework/runs/run_list.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <string>
#include <system_error>
#include <vector>

namespace learn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRemoved = ".removed-";

/// The folder by its own name, in one that is not reached through `.` or `..`; a link stays one.
fs::path named(const fs::path& run) {
  fs::path path = run.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::error_code error;
  if (path.empty() || path == "." || path.filename() == "..") path = fs::canonical(run, error);
  return path;
}

/// Returns those of a folder and the runs inside that a process can work in.
std::vector<fs::path> runs_in(const fs::path& run) {
  std::vector<fs::path> all{run};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(run, ignored))
    if (!entry.is_symlink(ignored) && is_run(entry.path())) all.push_back(entry.path());
  return all;
}

void check_same_file_system(const fs::path& run) {
  struct stat top {};
  if (::lstat(run.c_str(), &top) != 0) return;
  std::error_code error;
  for (fs::recursive_directory_iterator at(run, error), end; !error && at != end;
       at.increment(error)) {
    struct stat info {};
    if (::lstat(at->path().c_str(), &info) == 0 && info.st_dev != top.st_dev)
      fail<UsageError>("'{}' is not removed: '{}' in it is a mounted file system",
                       run.string(),
                       at->path().string());
  }
}

void check_is_removable(const fs::path& run) {
  std::error_code ignored;
  if (fs::is_symlink(run, ignored))
    fail<UsageError>("'{}' is not removed: it is a link to '{}'; name the run itself",
                     run.string(),
                     fs::read_symlink(run, ignored).string());
  if (!fs::is_directory(run, ignored)) fail<UsageError>("run '{}' does not exist", run.string());
  if (!is_run(run) && !is_removal_leftover(folder_name(run)))
    fail<UsageError>("'{}' is not removed: it has no run.json, so it is not the folder of a run",
                     run.string());
  check_same_file_system(run);
}

/// Renames the folder to a name that no run has. Returns that.
fs::path hide(const fs::path& run, FileSystem& files) {
  constexpr std::size_t kMaxName = 200;  // with what is added it must stay below 255 bytes
  const std::string name = run.filename().string().substr(0, kMaxName);
  if (is_removal_leftover(name)) return run;
  const fs::path parent = run.parent_path();
  fs::path hidden;
  std::error_code ignored;
  for (int i = 1; hidden.empty() || fs::exists(fs::symlink_status(hidden, ignored)); ++i)
    hidden = parent / fmt::format("{}{}-{}-{}", kRemoved, name, ::getpid(), i);
  if (files.rename(run, hidden) != 0)
    fail<IoError>("cannot remove '{}': {}; it is unchanged", run.string(), std::strerror(errno));
  if (files.sync_folder(parent) != 0)
    log::warn("[io] cannot sync '{}': {}", parent.string(), std::strerror(errno));
  return hidden;
}

bool says_running(const fs::path& run) {
  try {
    return read_run_record(run).status == "running";
  } catch (const Error&) {
    return false;  // a damaged run may be removed, too
  }
}

void check_is_unused(const fs::path& run, FileSystem& files) {
  for (const fs::path& one : runs_in(run)) {
    const Held held = is_held(one, files);
    if (held == Held::yes)
      fail<UsageError>("'{}' is not removed: a process is working in '{}'; stop it first",
                       run.string(),
                       one.string());
    if (held == Held::unknown && says_running(one))
      fail<UsageError>(
          "'{}' is not removed: according to its record '{}' is running, and this file system "
          "cannot show whether another machine is working there; if none is, delete the folder "
          "yourself",
          run.string(),
          one.string());
  }
}

/// Points `latest` to another run after its run was removed, now or by an earlier removal that was
/// interrupted.
void repair_latest(const fs::path& root, const fs::path& removed) {
  const fs::path latest = latest_run(root);
  std::error_code ignored;
  if (latest.empty() || (latest != removed.filename() && fs::exists(root / latest, ignored)))
    return;
  const RunEntry* newest = nullptr;
  RunList left;
  try {
    left = list_runs(root.empty() ? "." : root);
  } catch (const Error& e) {
    log::warn("[io] {}", e.what());
  }
  for (const RunEntry& run : left.runs)
    if (newest == nullptr || newest->record.started < run.record.started) newest = &run;
  if (newest != nullptr) return point_latest(root, newest->path);
  std::error_code error;
  fs::remove(root / "latest", error);
  if (error) log::warn("[io] cannot remove '{}': {}", (root / "latest").string(), error.message());
}

}  // namespace

void check_can_remove(const fs::path& run, FileSystem& files) {
  const fs::path path = named(run);
  check_is_removable(path);
  check_is_unused(path, files);
}

void remove_run(const fs::path& run, FileSystem& files) {
  const fs::path path = named(run);
  check_is_removable(path);
  check_is_unused(path, files);
  std::list<FolderLock> locks;
  for (const fs::path& one : runs_in(path)) locks.emplace_back(one);
  const fs::path hidden = hide(path, files);
  repair_latest(path.parent_path(), path);
  std::error_code error;
  fs::remove_all(hidden, error);
  if (error)
    fail<IoError>("'{}' is partly removed ({}); the rest is in '{}'",
                  run.string(),
                  error.message(),
                  hidden.string());
}

bool is_removal_leftover(std::string_view name) { return name.starts_with(kRemoved); }

}  // namespace learn
