#pragma once
#include "apps/learn/data/show_batch.h"

#include <string>

namespace learn::cli {

struct Parsed;

/// The options of `learn data`: those of a training that say what its data are, and its own.
struct DataCommandOptions {
  /// What show draws; its training's `--data` is the set that is named, for all actions.
  ShowBatchOptions show{.out = "data.png"};
  std::string action;  ///< info, show, verify or make
  std::string folder;  ///< that make writes
  bool json = false;
  bool all = false;

  [[nodiscard]] const ExperimentOptions& experiment() const { return show.train.experiment; }
};

/// The options of `learn data`, bound to `options`.
[[nodiscard]] OptionTable data_command_table(DataCommandOptions& options);

/// `learn data ACTION DATA [DIR]`. Throws UsageError for an action that there is not and an option
/// that it has no use for; else as the action. Returns the exit code.
int data_command(DataCommandOptions& options, const OptionTable& table, const Parsed& parsed);

/// What a data set holds: counts, colours, sizes, formats.
int data_info(const DataCommandOptions& options);
/// Decodes all of it. Returns 3, as for damaged data, if something is wrong with it.
int data_verify(const DataCommandOptions& options);
/// Writes it as a folder of PNG files with a table of their labels.
int data_make(const DataCommandOptions& options);

}  // namespace learn::cli
