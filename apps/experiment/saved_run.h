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

/// Whether the folder of a run has a state to resume from, whole or damaged.
[[nodiscard]] bool has_state(const std::filesystem::path& run);
/// Returns the folder of the run that `--resume` names, found as in `run_folder`. Throws
/// CheckpointError if it holds no checkpoint to resume from.
[[nodiscard]] std::filesystem::path find_run(const std::string& resume, const std::string& out);
/// Sets the options that the experiment was started with. Throws CheckpointError if the checkpoint
/// does not belong to an experiment.
void set_saved_options(const OptionTable& table, const SafetensorsFile& file);
/// Sets these options from the state that a run resumes from.
void set_saved_options(const OptionTable& table, const std::filesystem::path& run);

/// Warns of each option whose value in the run's config.toml differs from the checkpoint, because
/// the file was edited. The checkpoint takes precedence.
void warn_of_edited_config(const std::filesystem::path& run);

/// Returns the data that the experiment was started with. This is `trained` unchanged, or, if its
/// paths do not exist relative to the current folder and no others were given, with the location at
/// that time. Throws DataError if the data do not exist there either.
[[nodiscard]] DataSection saved_data(DataSection trained, const SafetensorsFile& file);
/// Returns these data for the state that a run resumes from.
[[nodiscard]] DataSection saved_data(DataSection trained, const std::filesystem::path& run);

/// Returns the locations of the runs' data at their start, for `check_result_path`. Skips runs
/// without a state or whose data were computed.
[[nodiscard]] std::vector<std::filesystem::path> data_sources(
    const std::vector<std::filesystem::path>& runs);

/// Compares the options that a run was started with to the options after those that are `given`
/// were set over them. A run may continue in another precision; earlier options of the precision
/// that have no effect in the new one are removed.
class ResumeGuard {
 public:
  /// `options` are the saved ones, bound to `table`; settles their precision.
  ResumeGuard(ExperimentOptions& options, const OptionTable& table);
  /// Throws UsageError that names each option whose value differs and would change the training.
  /// Allows another precision and, if a further fit is to run, options of that fit.
  void check(ExperimentOptions& options,
             const OptionTable& table,
             const std::set<std::string>& given,
             bool extends) const;

 private:
  PrecisionSection precision_;
  std::vector<std::string> saved_;  // as TOML, in the order of the table
};

/// Loads the state of a run into the objects made from its options. `Learner::resume` then
/// continues the run's fit; without it the next fit is a further one. If the last state is missing
/// or damaged, sets it aside with a warning and loads the one before it. Throws CheckpointError;
/// UsageError if the run is to continue in a precision that cannot hold its weights
/// (`check_range`); and DataError if the data, wherever they are, differ from those it was trained
/// and validated on.
void resume_run(Experiment& experiment, const std::filesystem::path& run);

}  // namespace learn
