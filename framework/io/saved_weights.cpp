#include "framework/io/saved_weights.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/suggest.h"

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

}  // namespace

fs::path run_folder(const std::string& name, const std::string& out) {
  const bool latest = name == "last" && !fs::exists(name);
  const fs::path run = latest ? fs::path(out) / "latest" : fs::path(name);
  if (latest && !fs::exists(run)) fail<CheckpointError>("'last': '{}' holds no run", out);
  // The link may point elsewhere by the next time that it is followed.
  return fs::is_symlink(run) ? run.parent_path() / fs::read_symlink(run) : run;
}

fs::path saved_weights(const fs::path& path, const std::optional<std::string>& which) {
  if (!fs::is_directory(path)) {
    if (!fs::exists(path))
      fail<CheckpointError>("'{}' is neither a run nor a checkpoint: it does not exist",
                            path.string());
    if (which)
      fail<UsageError>("'{}' is chosen of a run, and '{}' is a checkpoint", *which, path.string());
    return path;
  }
  const std::vector<std::string> there = checkpoints_of(path);
  const auto has = [&](const std::string& name) { return std::ranges::count(there, name) > 0; };
  std::string chosen = which.value_or("best");
  if (!which && !has(chosen) && has("last")) {
    chosen = "last";
    log::info("[run] '{}' has no best epoch yet: its last state is taken", path.string());
  }
  if (there.empty())
    fail<CheckpointError>(
        "'{}' holds no checkpoint: is it the folder of a run, and has its first "
        "epoch ended?",
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
