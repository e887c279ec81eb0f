#pragma once
#include "apps/experiment/data_section.h"
#include "framework/core/option_table.h"
#include "framework/io/safetensors.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn {

class Experiment;

/// The folder of the run that `--resume` names: a folder, or "last" for the latest one in `out`.
/// Throws CheckpointError if it holds no checkpoint to resume from.
[[nodiscard]] std::filesystem::path find_run(const std::string& resume, const std::string& out);
/// What a checkpoint says of the experiment that it belongs to, see `Experiment::metadata`. Throw
/// CheckpointError for one that was not written for an experiment.
[[nodiscard]] const std::string& saved_value(const SafetensorsFile& file, const std::string& key);
/// Sets the options that the experiment was begun with.
void set_saved_options(const OptionTable& table, const SafetensorsFile& file);
/// The same out of the state that a run resumes from.
void set_saved_options(const OptionTable& table, const std::filesystem::path& run);

/// The data that the experiment was begun with: `trained` as it is, or, if its paths lead nowhere
/// from the present folder and no others were given, at the place where they were then. Throws
/// DataError if they are not there either.
[[nodiscard]] DataSection saved_data(DataSection trained, const SafetensorsFile& file);
/// The same out of the state that a run resumes from.
[[nodiscard]] DataSection saved_data(DataSection trained, const std::filesystem::path& run);

/// A configuration, and what became of it: throws UsageError that names each option whose value is
/// another one and would change the training, but for those of a further fit if there is to be one.
class ResumeGuard {
 public:
  explicit ResumeGuard(const OptionTable& table);
  void check(const OptionTable& table, bool extends) const;

 private:
  std::vector<std::string> saved_;  // as TOML, in the order of the table
};

/// Loads the state of a run into the objects that its options have made; `Learner::resume` then
/// continues its fit, without that the next one is a further fit. A last state that is missing or
/// damaged is set aside, with a warning, and the one before it is taken. Throws CheckpointError,
/// and DataError if the data, wherever they lie, are not those it was trained and validated on.
void load_run(Experiment& experiment, const std::filesystem::path& run);

}  // namespace learn
