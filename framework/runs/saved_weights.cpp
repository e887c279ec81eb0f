#include "framework/runs/saved_weights.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/options/suggest.h"
#include "framework/runs/run_list.h"

#include <algorithm>
#include <vector>

namespace learn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".safetensors";

std::vector<std::string> checkpoints_of(const fs::path& run) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run / "weights", none))
    if (entry.path().extension() == kExtension) names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

/// A file, which may be a checkpoint, or a folder in which a run has left something.
bool may_be_run(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return fs::exists(path, ignored);
  return is_run(path) || fs::exists(path / "weights", ignored) ||
         fs::exists(path / "metrics.jsonl", ignored);
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

/// The path of that name in the folder of all runs; empty for a path outside of it.
fs::path below(const std::string& name, const std::string& out) {
  const fs::path path(name);
  const bool leads_out =
      path.is_absolute() || std::ranges::count(path, "..") > 0 || std::ranges::count(path, ".") > 0;
  return leads_out ? fs::path() : fs::path(out) / path;
}

/// Resolves the link once, because it may point elsewhere the next time.
fs::path followed(const fs::path& run) {
  return fs::is_symlink(run) ? run.parent_path() / fs::read_symlink(run) : run;
}

/// Returns the run with that name or path; empty if it does not exist.
fs::path named_run(const std::string& name, const std::string& out) {
  const fs::path here(name);
  const fs::path there = below(name, out);
  const fs::path latest = fs::path(out) / "latest";
  const bool of_runs = !there.empty() && may_be_run(there);
  std::error_code ignored;
  for (const fs::path& other : {here, name == "last" ? latest : here})
    if (of_runs && may_be_run(other) && !fs::equivalent(other, there, ignored))
      fail<UsageError>("'{}' is ambiguous: use {} or {}",
                       name,
                       other == here ? (fs::path(".") / here).string() : other.string(),
                       there.string());
  if (may_be_run(here)) return here;
  if (of_runs) return there;
  if (name == "last" && fs::exists(latest, ignored)) return followed(latest);
  return {};
}

[[noreturn]] void fail_to_find(const std::string& name,
                               const std::string& out,
                               SourceLocation at = SourceLocation::current()) {
  std::error_code ignored;
  std::vector<std::string> known;
  if (fs::is_directory(out, ignored))
    for (const RunEntry& run : list_runs(out).runs) known.push_back(run.name);
  const std::string near = did_you_mean(name, known);
  if (fs::is_directory(name, ignored))
    fail_from<CheckpointError>(
        at,
        "'{}' is not the folder of a run: it has no run.json and no weights{}",
        name,
        name.find('/') == std::string::npos
            ? fmt::format("; and there is no run '{}' in '{}'{}", name, out, near)
            : "");
  if (name == "last") fail_from<CheckpointError>(at, "'last': '{}' contains no run", out);
  fail_from<CheckpointError>(at, "no run '{}' in '{}', and no such path{}", name, out, near);
}

}  // namespace

fs::path run_folder(const std::string& name, const std::string& out) {
  const fs::path run = named_run(name, out);
  if (run.empty()) fail_to_find(name, out);
  return followed(run);
}

fs::path anything_named(const std::string& name, const std::string& out) {
  if (const fs::path run = named_run(name, out); !run.empty()) return run;
  const fs::path there = below(name, out);
  if (!there.empty() && is_there(there)) return there;
  if (is_there(name)) return name;
  fail_to_find(name, out);
}

fs::path saved_weights(const fs::path& path, const std::optional<std::string>& which) {
  if (!fs::is_directory(path)) {
    if (!fs::exists(path))
      fail<CheckpointError>("'{}' is neither a run nor a checkpoint: it does not exist",
                            path.string());
    if (which)
      fail<UsageError>("'{}' selects a checkpoint of a run, but '{}' is a checkpoint itself",
                       *which,
                       path.string());
    return path;
  }
  const std::vector<std::string> there = checkpoints_of(path);
  const auto has = [&](const std::string& name) { return std::ranges::count(there, name) > 0; };
  std::string chosen = which.value_or("best");
  if (!which && !has(chosen) && has("last")) {
    chosen = "last";
    log::info("[run] '{}' has no best epoch yet: using its last state", path.string());
  }
  if (there.empty())
    fail<CheckpointError>(
        "'{}' contains no checkpoint: is it the folder of a run, and has its first epoch ended?",
        path.string());
  if (!has(chosen))
    fail<CheckpointError>("'{}' has no checkpoint '{}'{} (it has {})",
                          path.string(),
                          chosen,
                          did_you_mean(chosen, there),
                          join(there));
  return path / "weights" / (chosen + kExtension);
}

}  // namespace learn
