#pragma once
#include "apps/experiment/options.h"
#include "framework/core/options/option_table.h"
#include "framework/io/safetensors.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace learn {

class Experiment;

/// The folder of the run that `--resume` names, as `run_folder` finds it. Throws CheckpointError if
/// it holds no checkpoint to resume from.
[[nodiscard]] std::filesystem::path find_run(const std::string& resume, const std::string& out);
/// Sets the options that the experiment was begun with. Throws CheckpointError for a checkpoint
/// that was not written for one.
void set_saved_options(const OptionTable& table, const SafetensorsFile& file);
/// The same out of the state that a run resumes from.
void set_saved_options(const OptionTable& table, const std::filesystem::path& run);

/// Warns of each option whose value in the run's config.toml is not the one of the checkpoint,
/// which counts: somebody has edited the file.
void warn_of_edited_config(const std::filesystem::path& run);

/// The data that the experiment was begun with: `trained` as it is, or, if its paths lead nowhere
/// from the present folder and no others were given, at the place where they were then. Throws
/// DataError if they are not there either.
[[nodiscard]] DataSection saved_data(DataSection trained, const SafetensorsFile& file);
/// The same out of the state that a run resumes from.
[[nodiscard]] DataSection saved_data(DataSection trained, const std::filesystem::path& run);

/// Where the data of runs lay when they were begun, for `check_result_path`: of those that hold a
/// state and whose data were not computed.
[[nodiscard]] std::vector<std::filesystem::path> data_sources(
    const std::vector<std::filesystem::path>& runs);

/// The options that a run was begun with, and what became of them when those that are `given` were
/// set over them. A run may continue in another precision; what was said for the one before and has
/// no effect in the new one is taken away.
class ResumeGuard {
 public:
  /// `options` are those of `table`, as they were saved; settles their precision.
  ResumeGuard(ExperimentOptions& options, const OptionTable& table);
  /// Throws UsageError that names each option whose value is another one and would change the
  /// training, but for those of a further fit if there is to be one, and of another precision.
  void check(ExperimentOptions& options,
             const OptionTable& table,
             const std::set<std::string>& given,
             bool extends) const;

 private:
  PrecisionSection precision_;
  std::vector<std::string> saved_;  // as TOML, in the order of the table
};

/// Loads the state of a run into the objects that its options have made; `Learner::resume` then
/// continues its fit, without that the next one is a further fit. A last state that is missing or
/// damaged is set aside, with a warning, and the one before it is taken. Throws CheckpointError;
/// UsageError if it is to continue in another precision, which cannot hold its weights
/// (`check_range`); and DataError if the data, wherever they lie, are not those it was trained and
/// validated on.
void resume_run(Experiment& experiment, const std::filesystem::path& run);

}  // namespace learn
