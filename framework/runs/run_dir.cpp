#include "framework/runs/run_dir.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/io/atomic_file.h"
#include "framework/runs/folder_lock.h"
#include "framework/runs/latest_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

namespace learn {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxRuns = 100000;

void check_name(const std::string& name) {
  bool plain = !name.empty() && name.size() <= 100 && name.front() != '.' && name.front() != '-' &&
               name != "latest";
  for (const char c : name)
    plain = plain && c != '/' && static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
  if (!plain)
    fail<UsageError>(
        "'{}' is not a valid name for a run: use a plain file name of at most 100 bytes that does "
        "not start with '.' or '-' and is not 'latest'",
        name);
}

/// Removes what a killed process left of files it was writing.
void sweep_temporaries(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (AtomicFile::is_temporary(entry.path().filename().string()))
      fs::remove(entry.path(), ignored);
}

bool holds_checkpoints(const fs::path& weights) {
  std::error_code ignored;
  const fs::directory_iterator files(weights, ignored);
  return std::any_of(begin(files), end(files), [](const auto& entry) {
    return entry.path().extension() == ".safetensors";
  });
}

/// Moves the checkpoints of an earlier run and all files next to them into a separate folder, the
/// checkpoints first, so that after a failure they are never taken for those of another run.
void set_former_run_aside(const fs::path& run) {
  if (!holds_checkpoints(run / "weights")) return;
  int number = 1;
  while (!make_folder(run / fmt::format("former-{}", number))) ++number;
  const fs::path former = run / fmt::format("former-{}", number);
  std::vector<fs::path> names{"weights"};
  for (const auto& entry : fs::directory_iterator(run))
    if (!entry.is_directory()) names.push_back(entry.path().filename());
  for (const fs::path& name : names) {
    std::error_code error;
    fs::rename(run / name, former / name, error);
    if (error)
      fail<IoError>(
          "cannot move '{}' to '{}': {}", (run / name).string(), former.string(), error.message());
  }
  for (const fs::path& folder : {former, run})
    if (disk().sync_folder(folder) != 0)
      fail<IoError>("cannot sync '{}': {}", folder.string(), std::strerror(errno));
  log::info("[io] the run that '{}' held is now '{}'", run.string(), former.string());
}

/// Throws IoError unless files can be made in this folder, or, if it is not there, in the one above
/// it that is.
void check_writable(fs::path folder) {
  std::error_code ignored;
  while (!folder.empty() && folder != folder.root_path() && !fs::exists(folder, ignored))
    folder = folder.parent_path();
  if (folder.empty()) folder = ".";
  const int error = ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
  if (error != 0)
    fail<IoError>("cannot write into '{}': {}", folder.string(), std::strerror(error));
}

}  // namespace

RunDir::RunDir(fs::path path)
    : path_(std::move(path)), lock_(std::make_shared<const FolderLock>(path_)) {
  (void)make_folder(path_ / "weights");
  sweep_temporaries(path_);
  sweep_temporaries(path_ / "weights");
}

void RunDir::check_can_create(const fs::path& root, const std::string& name, bool exist_ok) {
  check_name(name);
  check_writable(exist_ok ? root / name : root);
}

void RunDir::check_can_open(const fs::path& path) {
  check_writable(path);
  check_writable(path / "weights");
}

RunDir RunDir::open(const fs::path& path) {
  if (!fs::is_directory(path)) fail<IoError>("folder '{}' does not exist", path.string());
  RunDir run(path);
  const fs::path real = fs::canonical(path);
  if (fs::is_symlink(real.parent_path() / "latest")) point_latest(real.parent_path(), real);
  return run;
}

void RunDir::tidy(const fs::path& path) { (void)RunDir(path); }

RunDir RunDir::create(const fs::path& root, const std::string& name, bool exist_ok) {
  check_name(name);
  make_folders(root);
  fs::path path = root / name;
  bool is_new = make_folder(path);
  for (int i = 2; !is_new && !(exist_ok && fs::is_directory(path)); ++i) {
    if (i > kMaxRuns) fail<IoError>("'{}' contains too many runs named '{}'", root.string(), name);
    path = root / fmt::format("{}-{}", name, i);
    is_new = make_folder(path);
  }
  RunDir run(path);
  if (!is_new) {
    set_former_run_aside(path);
    (void)make_folder(path / "weights");
  }
  point_latest(root, path);
  return run;
}

void RunDir::write(const RunRecord& record) const {
  write_file_atomically(path_ / "run.json", run_record_text(record));
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

}  // namespace learn
