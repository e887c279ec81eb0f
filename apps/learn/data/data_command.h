#pragma once
#include "apps/learn/data/show_batch.h"

#include <string>

namespace learn::cli {

/// The options of `learn data`: those of a training that describe its data, and its own.
struct DataCommandOptions {
  DataCommandOptions() { show.out = "data.png"; }

  /// Options of show; its training's `--data` is the set that is named, for all actions.
  ShowBatchOptions show;
  std::string action;  ///< info, show, verify or make
  std::string folder;  ///< that make writes
  bool json = false;
  bool all = false;

  /// But for the arguments.
  [[nodiscard]] OptionTable table();
  [[nodiscard]] const ExperimentOptions& experiment() const { return show.train.experiment; }
};

/// Content of a data set: counts, colours, sizes, formats.
int data_info(const DataCommandOptions& options);
/// Decodes all of it. Returns 3, as for damaged data, if something is wrong with it.
int data_verify(const DataCommandOptions& options);
/// Writes it as a folder of PNG files with a table of their labels.
int data_make(const DataCommandOptions& options);

}  // namespace learn::cli
