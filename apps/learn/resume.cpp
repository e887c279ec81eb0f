#include "apps/learn/resume.h"

#include "apps/learn/experiment.h"
#include "framework/core/error.h"
#include "framework/io/checkpoint.h"

#include <algorithm>
#include <array>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

/// Options that may change when a run is resumed: its numbers do not depend on them, or, of another
/// device, in their last bits only.
constexpr std::array kFree{"data-dir",
                           "workers",
                           "prefetch",
                           "device",
                           "tune",
                           "plan-cache",
                           "threads",
                           "out",
                           "plots",
                           "progress"};

bool is_free(const Option& option) {
  return std::find(kFree.begin(), kFree.end(), option.name) != kFree.end();
}

std::string shown(const std::string& toml) { return toml.empty() ? "nothing" : toml; }

/// Opens the state. The one before it may be whole where this one is not.
SafetensorsFile open_state(const fs::path& run) {
  const fs::path file = last_state(run);
  try {
    return SafetensorsFile(file);
  } catch (const CheckpointError& e) {
    const fs::path previous = file.parent_path() / "last.prev.safetensors";
    if (!fs::exists(previous)) throw;
    fail<CheckpointError>("{}\n  the state before it is '{}': rename it to resume from there",
                          e.what(),
                          previous.string());
  }
}

const std::string& require(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    fail<CheckpointError>("'{}' does not say its '{}': it was not written by 'learn train'",
                          file.path().string(),
                          key);
  return found->second;
}

}  // namespace

fs::path last_state(const fs::path& run) { return run / "weights" / "last.safetensors"; }

fs::path find_run(const std::string& resume, const std::string& out) {
  const fs::path run = resume == "last" ? fs::path(out) / "latest" : fs::path(resume);
  if (resume == "last" && !fs::exists(run))
    fail<CheckpointError>("--resume last: '{}' holds no run", out);
  if (!fs::is_directory(run))
    fail<CheckpointError>("--resume: '{}' is not the folder of a run", resume);
  if (!fs::exists(last_state(run)))
    fail<CheckpointError>(
        "--resume: '{}' holds no '{}': a run has one from the end of its first epoch on",
        run.string(),
        last_state(run).lexically_relative(run).string());
  // The link may point elsewhere by the next time that it is followed.
  return fs::is_symlink(run) ? run.parent_path() / fs::read_symlink(run) : run;
}

void set_saved_options(const OptionTable& table, const fs::path& run) {
  const SafetensorsFile file = open_state(run);
  try {
    set_options(table, parse_config(require(file, "learn.config"), "learn.config", "train", table));
  } catch (const UsageError& e) {
    fail<CheckpointError>("'{}': {}", file.path().string(), e.what());
  }
}

ResumeGuard::ResumeGuard(const OptionTable& table) {
  for (const Option& option : table.all()) saved_.push_back(option.toml());
}

void ResumeGuard::check(const OptionTable& table) const {
  std::string differences;
  auto saved = saved_.begin();
  for (const Option& option : table.all()) {
    const std::string before = *saved++;
    if (!option.in_config || is_free(option) || option.toml() == before) continue;
    differences +=
        fmt::format("\n  --{}: {} then, {} now", option.name, shown(before), shown(option.toml()));
  }
  if (!differences.empty())
    fail<UsageError>("--resume keeps the options the run was begun with; these differ:{}",
                     differences);
}

void load_run(Experiment& experiment, const fs::path& run) {
  const SafetensorsFile file = open_state(run);
  const Metadata now = experiment.metadata("");
  for (const char* const key : {"learn.dataset", "learn.fingerprint"})
    if (require(file, key) != now.at(key))
      fail<CheckpointError>("'{}' was trained on '{}', {}; the data here are '{}', {}",
                            run.string(),
                            require(file, "learn.dataset"),
                            require(file, "learn.fingerprint").substr(0, 12),
                            now.at("learn.dataset"),
                            now.at("learn.fingerprint").substr(0, 12));
  Learner& learn = experiment.learner();
  load_state(file.path(), [&](StateVisitor& visitor) { learn.visit_state(visitor); });
  learn.resume();
}

}  // namespace learn::cli
