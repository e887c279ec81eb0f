#pragma once
#include "apps/experiment/options.h"

#include <string>

namespace learn::cli {

/// The options of `learn train`: an experiment's, and options of one call that are not part of its
/// configuration.
struct TrainOptions {
  ExperimentOptions experiment;
  std::string config;
  std::string preset;
  std::string resume;       ///< folder of the run to resume, once resolved
  std::int64_t extend = 0;  ///< epochs to add to the run that is resumed
  bool exist_ok = false;
  bool dry_run = false;
  bool fast_dev_run = false;
  bool params = false;
  bool print_config = false;
  bool explain = false;

  /// The options, bound to these fields.
  [[nodiscard]] OptionTable table();
  /// Sets the fields from the command line's values: flag over configuration file over preset over
  /// default; a resumed run replaces the defaults, and must not be contradicted. Then checks that
  /// the options are consistent. Throws UsageError, IoError, CheckpointError.
  void resolve(const OptionTable& table, const OptionValues& command_line);
};

/// Returns those of these options that are named in `kept`. Throws std::logic_error for an unknown
/// name.
[[nodiscard]] OptionTable some_of_train(TrainOptions& options,
                                        const std::vector<std::string>& kept);

/// Options that affect single steps of a training, for commands that try steps without writing a
/// run.
[[nodiscard]] OptionTable steps_of_train(TrainOptions& options);

/// Options of a command that tries a part of a training: those of `learn train` that matter to it,
/// and its own, which a derived class declares.
struct TrialOptions {
  TrainOptions train;

  TrialOptions() = default;
  virtual ~TrialOptions() = default;
  TrialOptions(const TrialOptions&) = delete;  // a table refers to it
  TrialOptions& operator=(const TrialOptions&) = delete;

  /// All options of the command, bound to these fields.
  [[nodiscard]] virtual OptionTable table() = 0;
  /// Options of an experiment that `table` does not have: a line of `learn train` may have them,
  /// and they mean nothing to the command.
  [[nodiscard]] OptionTable without_effect();

 protected:
  /// `TrainOptions::resolve` for a command that has the options `kept` of these, and others that
  /// are its own, in `table`.
  void resolve_some(const std::vector<std::string>& kept,
                    const OptionTable& table,
                    const OptionValues& command_line);

 private:
  ExperimentOptions ignored_;  // where the values of those without effect go
};

}  // namespace learn::cli
