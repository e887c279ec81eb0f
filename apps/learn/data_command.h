#pragma once
#include "apps/learn/train_options.h"

#include <cstdint>
#include <string>

namespace learn::cli {

struct Parsed;

/// The options of `learn data`: those of a training that say what its data are, and its own.
struct DataCommandOptions {
  TrainOptions train;  ///< whose `--data` is the set that is named
  std::string action;  ///< info, show, verify or make
  std::string folder;  ///< that make writes
  bool json = false;
  bool all = false;
  std::int64_t images = 12;
  std::int64_t versions = 4;
  bool valid = false;
  std::string out = "data.png";
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
