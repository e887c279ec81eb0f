#include "framework/runs/run_list.h"

#include "framework/core/error.h"
#include "framework/io/csv.h"
#include "framework/runs/folder_lock.h"
#include "framework/runs/remove_run.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>
#include <system_error>
#include <utility>

namespace learn {
namespace {

namespace fs = std::filesystem;

std::optional<double> seconds_of(const fs::path& run) {
  const fs::path file = run / "results.csv";
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  try {
    const CsvTable table = read_csv(file);
    const auto column = table.column("time");
    if (!column || table.rows.empty()) return std::nullopt;
    double sum = 0;
    for (const auto& row : table.rows) {
      const std::string& cell = row[*column];
      double seconds = 0;
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), seconds);
      if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(seconds))
        return std::nullopt;
      sum += seconds;
    }
    return sum;
  } catch (const Error&) {
    return std::nullopt;  // the content of another program's table is unknown
  }
}

std::string status_now(const RunEntry& run, Held held) {
  if (held == Held::yes) return "running";
  if (!run.problem.empty()) return "damaged";
  if (run.record.status != "running") return run.record.status;
  return held == Held::no ? "gone" : "unknown";
}

void read_record(RunEntry& run) {
  try {
    run.record = read_run_record(run.path);
  } catch (const Error& e) {
    run.problem = e.what();
  }
}

RunEntry entry_of(const fs::path& run, FileSystem& files) {
  RunEntry entry{.path = run, .name = folder_name(run)};
  const Held held = is_held(run, files);
  // After the lock, so that a run that ends meanwhile is not reported as vanished.
  read_record(entry);
  entry.status = status_now(entry, held);
  entry.seconds = seconds_of(run);
  entry.bytes = disk_usage(run);
  return entry;
}

/// Whether it is a link to a run in the same folder.
bool is_second_name(const fs::path& link, const fs::path& root) {
  std::error_code error;
  if (!fs::is_symlink(link, error)) return false;
  const fs::path target = fs::canonical(link, error);
  return error || target.parent_path() == fs::canonical(root, error);
}

}  // namespace

const std::vector<std::string>& run_statuses() {
  static const std::vector<std::string> all{
      "running", "finished", "interrupted", "crashed", "diverged", "gone", "unknown", "damaged"};
  return all;
}

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder, ignored) &&
         fs::exists(fs::symlink_status(folder / "run.json", ignored));
}

RunEntry look_at_run(const fs::path& run, FileSystem& files) {
  std::error_code ignored;
  if (!fs::exists(run, ignored)) fail<UsageError>("run '{}' does not exist", run.string());
  if (!is_run(run))
    fail<UsageError>("'{}' is not the folder of a run: it has no run.json", run.string());
  return entry_of(run, files);
}

RunList list_runs(const fs::path& root, FileSystem& files) {
  std::error_code error;
  RunList list;
  for (fs::directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
    const fs::path& path = at->path();
    const std::string name = path.filename().string();
    if (is_removal_leftover(name)) list.leftovers.push_back(path);
    if (name.starts_with('.') || !is_run(path) || is_second_name(path, root)) continue;
    RunEntry run = entry_of(path, files);
    if (is_run(path)) list.runs.push_back(std::move(run));  // else it was removed meanwhile
  }
  if (error) fail<IoError>("cannot read the folder '{}': {}", root.string(), error.message());
  std::ranges::sort(list.runs, comes_before, &RunEntry::name);
  std::ranges::sort(list.leftovers);
  return list;
}

std::uint64_t disk_usage(const fs::path& folder) {
  constexpr std::uint64_t kBlock = 512;  // of st_blocks, for every file system
  std::uint64_t bytes = 0;
  std::set<std::pair<dev_t, ino_t>> seen;
  const auto add = [&](const fs::path& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return;
    if (S_ISDIR(info.st_mode) || seen.emplace(info.st_dev, info.st_ino).second)
      bytes += static_cast<std::uint64_t>(info.st_blocks) * kBlock;
  };
  add(folder);
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(folder, options, error), end; !error && at != end;
       at.increment(error))
    add(at->path());
  return bytes;
}

std::string folder_name(const fs::path& folder) {
  fs::path name = folder.lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  if (name == "." || name == ".." || name.filename() == "..") {
    std::error_code ignored;
    name = fs::weakly_canonical(folder, ignored);
  }
  return name.filename().string();
}

bool comes_before(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    return text.substr(at, end - at);
  };
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    std::string_view x = digits(a, i);
    std::string_view y = digits(b, j);
    if (x.empty() || y.empty()) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    i += x.size();
    j += y.size();
    x.remove_prefix(std::min(x.find_first_not_of('0'), x.size()));
    y.remove_prefix(std::min(y.find_first_not_of('0'), y.size()));
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;  // "01" and "1"
}

}  // namespace learn
