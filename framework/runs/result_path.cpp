#include "framework/runs/result_path.h"

#include "framework/core/error.h"
#include "framework/runs/run_list.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>

namespace learn {
namespace {

namespace fs = std::filesystem;

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

/// Whether `file` exists below `folder`.
bool lies_in(const fs::path& file, const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored) || !fs::exists(file, ignored)) return false;
  for (fs::path above = fs::canonical(file, ignored).parent_path(); above.has_relative_path();
       above = above.parent_path())
    if (is_same(above, folder)) return true;
  return false;
}

/// Whether a run needs what has this path; links in it have been followed.
bool belongs_to_run(const fs::path& file) {
  constexpr std::array<std::string_view, 5> kOfRun{
      "run.json", "config.toml", "run.log", "metrics.jsonl", "results.csv"};
  constexpr std::array<std::string_view, 3> kWeights{"best", "last", "last.prev"};
  const fs::path folder = file.parent_path();
  if (is_run(folder)) return std::ranges::find(kOfRun, file.filename().string()) != kOfRun.end();
  if (folder.filename() != "weights" || !is_run(folder.parent_path())) return false;
  std::error_code ignored;
  const std::string name = file.stem().string();
  return fs::exists(file, ignored) || name.starts_with("epoch-") ||
         std::ranges::find(kWeights, name) != kWeights.end();
}

}  // namespace

void check_result_path(const fs::path& target, const std::vector<fs::path>& sources) {
  for (const fs::path& source : sources) {
    if (is_same(target, source))
      fail<UsageError>("'{}' would replace '{}', an input of the result: name another file",
                       target.string(),
                       source.string());
    if (lies_in(target, source))
      fail<UsageError>("'{}' is a file of '{}', an input of the result: name another file to write",
                       target.string(),
                       source.string());
  }
  std::error_code ignored;
  const fs::path folder = fs::weakly_canonical(
      target.has_parent_path() ? target.parent_path() : fs::path("."), ignored);
  for (const fs::path& file : {folder / target.filename(), fs::weakly_canonical(target, ignored)})
    if (belongs_to_run(file))
      fail<UsageError>(
          "'{}' belongs to the run '{}': name another file to write",
          target.string(),
          (is_run(file.parent_path()) ? file.parent_path() : file.parent_path().parent_path())
              .string());
}

}  // namespace learn
