#pragma once
#include "apps/learn/train_options.h"

#include <filesystem>
#include <string>

namespace learn::cli {

class Experiment;

/// The folder of the run that `--resume` names: a folder, or "last" for the latest one in `out`.
/// Throws CheckpointError if it holds no checkpoint to resume from.
[[nodiscard]] std::filesystem::path find_run(const std::string& resume, const std::string& out);
/// The state that a run resumes from.
[[nodiscard]] std::filesystem::path last_state(const std::filesystem::path& run);

/// Sets the options that a run was begun with, out of its checkpoint. Throws CheckpointError for
/// one that `learn train` did not write.
void set_saved_options(const OptionTable& table, const std::filesystem::path& run);

/// A configuration, and what became of it: throws UsageError that names each option whose value is
/// another one and would change the training.
class ResumeGuard {
 public:
  explicit ResumeGuard(const OptionTable& table);
  void check(const OptionTable& table) const;

 private:
  std::vector<std::string> saved_;  // as TOML, in the order of the table
};

/// Loads the state of a run into the objects that its options have made; the next `fit` continues
/// from there. Throws CheckpointError, also if the data are not those it was trained on.
void load_run(Experiment& experiment, const std::filesystem::path& run);

}  // namespace learn::cli
