#include "apps/experiment/saved_run.h"

#include "apps/experiment/config_file.h"
#include "apps/experiment/experiment.h"
#include "apps/experiment/range_check.h"
#include "data/sets/registry.h"
#include "framework/core/log.h"
#include "framework/inference/saved_model.h"
#include "framework/runs/last_state.h"
#include "framework/runs/saved_weights.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace learn {
namespace {

namespace fs = std::filesystem;

std::string shown(const std::string& toml) { return toml.empty() ? "nothing" : toml; }

fs::path weights_of(const fs::path& run) { return run / "weights"; }

const std::string* find_value(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? nullptr : &found->second;
}

/// Returns the configuration that a checkpoint holds. A path without a slash is recognized only if
/// it exists, and it may no longer exist.
ConfigFile saved_config(const OptionTable& table, const SafetensorsFile& file) {
  ConfigFile config =
      parse_config(saved_value(file, "learn.config"), "learn.config", "train", table);
  // Older versions used other data if CIFAR-10 was not found; the data that were used count.
  const std::string* const dataset = find_value(file, "learn.dataset");
  for (ConfigEntry& entry : config.entries)
    if (entry.name == "data" && entry.text == "auto" && dataset != nullptr &&
        data::dataset_registry().contains(*dataset))
      entry.text = *dataset;
  if (find_value(file, "learn.data_path") == nullptr) return config;
  for (ConfigEntry& entry : config.entries) {
    std::string& text = entry.text;
    const bool is_path = entry.name == "data" && text.find('/') == std::string::npos &&
                         !data::dataset_registry().contains(Spec::parse(text).name);
    if (is_path && !fs::exists(text)) text.insert(0, "./");
  }
  return config;
}

/// Throws DataError unless the data here match the checkpoint's value of `key`. Checkpoints of
/// older versions do not have every key.
void check_same(const SafetensorsFile& file,
                const Metadata& now,
                const std::string& key,
                const char* what,
                const fs::path& run) {
  const std::string* const then = find_value(file, key);
  if (then == nullptr || *then == now.at(key)) return;
  fail<DataError>(
      "the data differ from those of '{}' at its start ('{}'): {}: {} then, {} now, in '{}'",
      run.string(),
      saved_value(file, "learn.dataset"),
      what,
      then->substr(0, 12),
      now.at(key).substr(0, 12),
      now.at("learn.dataset"));
}

}  // namespace

bool has_state(const fs::path& run) {
  return fs::exists(weights_of(run) / "last.safetensors") ||
         fs::exists(weights_of(run) / "last.prev.safetensors");
}

fs::path find_run(const std::string& resume, const std::string& out) {
  fs::path run = run_folder(resume, out);
  if (!fs::is_directory(run))
    fail<CheckpointError>("--resume: '{}' is not the folder of a run", resume);
  if (!has_state(run))
    fail<CheckpointError>(
        "--resume: '{}' holds no 'weights/last.safetensors': a run has one from the end of its "
        "first epoch on",
        run.string());
  return run;
}

void set_saved_options(const OptionTable& table, const SafetensorsFile& file) {
  try {
    set_options(table, saved_config(table, file));
  } catch (const UsageError& e) {
    fail<CheckpointError>("'{}': {}", file.path().string(), e.what());
  }
}

void set_saved_options(const OptionTable& table, const fs::path& run) {
  set_saved_options(table, *find_last_state(weights_of(run)).file);
}

DataSection saved_data(DataSection trained, const SafetensorsFile& file) {
  ExperimentOptions saved;
  set_saved_options(saved.table(), file);
  const bool others = trained.data != saved.data.data || trained.data_dir != saved.data.data_dir;
  const std::string* const path = find_value(file, "learn.data_path");
  const auto here = trained.place();
  // Computed data have no path, nor do data that were found by name and are missing now.
  if (others || path == nullptr || (here && !here->empty())) return trained;
  if (!fs::exists(*path))
    fail<DataError>(
        "'{}' does not exist, and the data at '{}' have changed; set --data if they have moved",
        trained.data,
        *path);
  trained.found_at = *path;
  return trained;
}

std::vector<fs::path> data_sources(const std::vector<fs::path>& runs) {
  std::vector<fs::path> sources;
  for (const fs::path& run : runs) {
    try {
      const LastState state = find_last_state(weights_of(run));
      if (const std::string* const path = find_value(*state.file, "learn.data_path"))
        sources.emplace_back(*path);
    } catch (const CheckpointError&) {  // the rest of the run can still be drawn
    }
  }
  return sources;
}

void warn_of_edited_config(const fs::path& run) {
  const fs::path edited = run / "config.toml";
  if (!fs::exists(edited)) return;
  const LastState state = find_last_state(weights_of(run));
  std::map<std::string, std::string> saved;
  for (const ConfigEntry& entry :
       config_values(saved_value(*state.file, "learn.config"), "learn.config", "train"))
    saved[entry.name] = entry.text;
  std::string differences;
  try {
    for (const auto& [name, text, line, column, by_default] : read_config_values(edited, "train")) {
      const auto found = saved.find(name);
      // Older versions did not save defaults.
      if (found == saved.end() ? by_default : found->second == text) continue;
      differences += fmt::format("\n  {}: {} in the file, {} in the checkpoint",
                                 name,
                                 shown(text),
                                 found == saved.end() ? "nothing" : shown(found->second));
    }
  } catch (const Error& e) {
    log::warn("[resume] the options of the checkpoint are used; '{}' cannot be read: {}",
              edited.string(),
              e.what());
    return;
  }
  if (!differences.empty())
    log::warn(
        "[resume] '{}' was changed; the options of the checkpoint replace it:{}\n  To train with "
        "other options, start a new run: --config FILE",
        edited.string(),
        differences);
}

DataSection saved_data(DataSection trained, const fs::path& run) {
  return saved_data(std::move(trained), *find_last_state(weights_of(run)).file);
}

ResumeGuard::ResumeGuard(ExperimentOptions& options, const OptionTable& table) {
  options.precision.settle();
  precision_ = options.precision;
  for (const Option& option : table.all()) saved_.push_back(option.toml());
}

void ResumeGuard::check(ExperimentOptions& options,
                        const OptionTable& table,
                        const std::set<std::string>& given,
                        bool extends) const {
  constexpr std::array<std::string_view, 3> kOfFit{"lr", "schedule", "warmup"};
  constexpr std::array<std::string_view, 2> kOfPrecision{"loss-scale", "keep-fp32"};
  options.precision.settle();
  const bool crosses = options.precision.change_from(precision_, given);
  const auto is_free = [&](const Option& option) {
    const auto one_of = [&](const auto& names) {
      return std::ranges::find(names, option.name) != names.end();
    };
    return option.may_change || (extends && one_of(kOfFit)) || (crosses && one_of(kOfPrecision));
  };
  std::string differences;
  auto saved = saved_.begin();
  for (const Option& option : table.all()) {
    const std::string before = *saved++;
    if (!option.in_config || is_free(option) || option.toml() == before) continue;
    differences +=
        fmt::format("\n  --{}: {} then, {} now", option.name, shown(before), shown(option.toml()));
  }
  if (!differences.empty())
    fail<UsageError>(
        "--resume keeps the options that the run was started with; these differ:{}\n  To train "
        "longer, add epochs when it is finished: --extend N. To train with other options, start a "
        "new run from its weights: --pretrained RUN",
        differences);
  if (crosses && !given.contains("callbacks")) options.leave_out_precision_callback();
}

void resume_run(Experiment& experiment, const fs::path& run) {
  const LastState state = find_last_state(weights_of(run));
  const SafetensorsFile& file = *state.file;
  const Metadata now = experiment.metadata("");
  check_same(file, now, "learn.fingerprint", "fingerprint of the training images", run);
  check_same(file, now, "learn.valid_fingerprint", "fingerprint of the validation images", run);
  check_same(file, now, "learn.normalization", "mean and standard deviation", run);
  const auto computed_on = file.metadata().find("learn.computed_on");
  if (computed_on != file.metadata().end() && computed_on->second != now.at("learn.computed_on"))
    log::info("[resume] computed on {} until now, on {} from now on: the last bits may differ",
              computed_on->second,
              now.at("learn.computed_on"));
  ExperimentOptions saved;
  set_saved_options(saved.table(), file);
  const PrecisionSection& precision = experiment.options().precision;
  // The learner reports all other changes, but not tf32, which a GPU applies within a product.
  if (saved.precision.tf32() != precision.tf32() &&
      precision.callback() == saved.precision.callback())
    log::warn(
        "[resume] the state was saved in {} and continues in {}: from now on this is a different "
        "training",
        saved.precision.chosen(),
        precision.chosen());
  Learner& learn = experiment.learner();
  load_last_state(
      weights_of(run), state, [&](StateVisitor& visitor) { learn.visit_state(visitor); });
  if (precision.chosen() != saved.precision.chosen()) check_range(learn, precision, run.string());
}

}  // namespace learn
