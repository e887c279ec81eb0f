#pragma once
#include "apps/experiment/data_section.h"
#include "apps/experiment/device_section.h"
#include "apps/experiment/model_section.h"
#include "apps/experiment/precision_section.h"
#include "apps/experiment/run_section.h"
#include "apps/experiment/training_section.h"

#include <set>
#include <string>
#include <vector>

namespace learn {

/// All that an experiment can be told, with the defaults. Each section declares its options once;
/// command lines, configuration files and programs set them by the same names.
struct ExperimentOptions {
  DataSection data;
  ModelSection model;
  TrainingSection training;
  PrecisionSection precision;
  DeviceSection device;
  RunSection run;

  /// The options by name, bound to this object, which must outlive the table and stay where it is.
  [[nodiscard]] OptionTable table();
  /// Options that make no sense together are refused, so that none is ignored: UsageError.
  void check() const;
  /// Sets the defaults that depend on the data: what a configuration then says is all that holds.
  void know(const data::Dataset& train);
  /// Unsets values of a file, a preset or a saved run that have no effect beside the options that
  /// are `given`, so that no option is refused that nobody typed. The log says which.
  void leave_out_without_effect(const std::set<std::string>& given);
  /// The callback of mixed precision that is given in full; null if there is none.
  [[nodiscard]] const std::string* precision_callback() const;
  /// Takes it away, with a warning: a run that had it continues in another precision.
  void leave_out_precision_callback();
};

/// A named set of options. `help` says what it is for.
struct Preset {
  std::string name;
  std::string help;
  OptionValues values;
  /// These too for a training in fp16, in other precisions they would be refused.
  OptionValues in_fp16{};
};
[[nodiscard]] const std::vector<Preset>& presets();

/// Sets options by name: `set_options(options.table(), {{"model", "resnet9"}, {"epochs", "5"}})`.
/// Throws UsageError that names the option, "--lr: ...".
void set_options(const OptionTable& table, const OptionValues& values);

}  // namespace learn
