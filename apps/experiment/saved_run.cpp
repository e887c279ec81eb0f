#include "apps/experiment/saved_run.h"

#include "apps/experiment/config_file.h"
#include "apps/experiment/experiment.h"
#include "apps/experiment/saved_weights.h"
#include "framework/io/checkpoint.h"

namespace learn {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

fs::path last_state(const fs::path& run) { return run / "weights" / "last.safetensors"; }

fs::path find_run(const std::string& resume, const std::string& out) {
  fs::path run = run_folder(resume, out);
  if (!fs::is_directory(run))
    fail<CheckpointError>("--resume: '{}' is not the folder of a run", resume);
  if (!fs::exists(last_state(run)))
    fail<CheckpointError>(
        "--resume: '{}' holds no '{}': a run has one from the end of its first epoch on",
        run.string(),
        last_state(run).lexically_relative(run).string());
  return run;
}

const std::string& saved_value(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    fail<CheckpointError>(
        "'{}' does not say its '{}': it was not written for an experiment of 'learn'",
        file.path().string(),
        key);
  return found->second;
}

void set_saved_options(const OptionTable& table, const SafetensorsFile& file) {
  try {
    set_options(table,
                parse_config(saved_value(file, "learn.config"), "learn.config", "train", table));
  } catch (const UsageError& e) {
    fail<CheckpointError>("'{}': {}", file.path().string(), e.what());
  }
}

void set_saved_options(const OptionTable& table, const fs::path& run) {
  set_saved_options(table, open_state(run));
}

ResumeGuard::ResumeGuard(const OptionTable& table) {
  for (const Option& option : table.all()) saved_.push_back(option.toml());
}

void ResumeGuard::check(const OptionTable& table) const {
  std::string differences;
  auto saved = saved_.begin();
  for (const Option& option : table.all()) {
    const std::string before = *saved++;
    if (!option.in_config || option.may_change || option.toml() == before) continue;
    differences +=
        fmt::format("\n  --{}: {} then, {} now", option.name, shown(before), shown(option.toml()));
  }
  if (!differences.empty())
    fail<UsageError>(
        "--resume keeps the options the run was begun with; these differ:{}\n  To train longer or "
        "in another way, begin a new run from its weights: --pretrained RUN",
        differences);
}

void load_run(Experiment& experiment, const fs::path& run) {
  const SafetensorsFile file = open_state(run);
  const Metadata now = experiment.metadata("");
  for (const char* const key : {"learn.dataset", "learn.fingerprint"})
    if (saved_value(file, key) != now.at(key))
      fail<CheckpointError>("'{}' was trained on '{}', {}; the data here are '{}', {}",
                            run.string(),
                            saved_value(file, "learn.dataset"),
                            saved_value(file, "learn.fingerprint").substr(0, 12),
                            now.at("learn.dataset"),
                            now.at("learn.fingerprint").substr(0, 12));
  Learner& learn = experiment.learner();
  load_state(file.path(), [&](StateVisitor& visitor) { learn.visit_state(visitor); });
  learn.resume();
}

}  // namespace learn
