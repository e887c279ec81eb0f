#pragma once
#include "apps/experiment/data_section.h"
#include "apps/experiment/device_section.h"
#include "apps/experiment/model_section.h"
#include "apps/experiment/precision_section.h"
#include "apps/experiment/ranks_section.h"
#include "apps/experiment/run_section.h"
#include "apps/experiment/training_section.h"

#include <set>
#include <string>
#include <vector>

namespace learn {

/// All options of an experiment, with their defaults. Each section declares its options once;
/// command lines, configuration files and programs set them by the same names.
struct ExperimentOptions {
  DataSection data;
  ModelSection model;
  TrainingSection training;
  PrecisionSection precision;
  DeviceSection device;
  RanksSection ranks;
  RunSection run;

  /// Returns the options by name, bound to this object, which must outlive the table and must not
  /// move.
  [[nodiscard]] OptionTable table();
  /// Throws UsageError for options that contradict each other, so that no option is silently
  /// ignored.
  void check() const;
  /// Sets the defaults that depend on the data, so that a saved configuration is complete.
  void know(const data::Dataset& train);
  /// Unsets values of a file, a preset or a saved run that have no effect together with the options
  /// that are `given`, so that only options on the command line can be rejected. Logs the options
  /// it unsets.
  void leave_out_without_effect(const std::set<std::string>& given);
  /// Returns the mixed precision callback that is specified in full; null if none was specified.
  [[nodiscard]] const std::string* precision_callback() const;
  /// Removes this callback, with a warning, because a run that had it continues in another
  /// precision.
  void leave_out_precision_callback();
};

/// A named set of options. `help` describes its purpose.
struct Preset {
  std::string name;
  std::string help;
  OptionValues values;
  /// Additional options for a training in fp16; other precisions would reject them.
  OptionValues in_fp16{};
};
[[nodiscard]] const std::vector<Preset>& presets();

/// Sets options by name: `set_options(options.table(), {{"model", "resnet9"}, {"epochs", "5"}})`.
/// Throws UsageError that names the option, "--lr: ...".
void set_options(const OptionTable& table, const OptionValues& values);

}  // namespace learn
