#pragma once
#include "apps/learn/training/train_options.h"
#include "framework/learner/find/lr_find.h"

#include <string>
#include <vector>

namespace learn::cli {

/// The options of `learn lr-find`: those of the training whose rate it finds, and its own.
struct LrFindCommandOptions : TrialOptions {
  LrFindOptions sweep;
  std::string plot;  ///< files; empty: none
  std::string csv;

  [[nodiscard]] OptionTable table() override;
  /// Sets the fields as `learn train` does; a configuration file may have all of its options.
  /// Throws as `TrainOptions::resolve`.
  void resolve(const OptionTable& table, const OptionValues& command_line);
};

/// Advice after a sweep: the training's `--lr`, several rates in the ratio of `lr`, which the sweep
/// was given (empty: the optimizer's usual one); or the reason why the sweep suggests none.
[[nodiscard]] std::string advice_of(const LrFindResult& found, const std::vector<double>& lr);
/// Prints the curve, why it ended and the suggestions, and writes the requested files. `table` is
/// bound to `options`. Processes that a launcher started make the sweep together; rank 0 prints and
/// writes. Returns the exit code. Throws Error.
int lr_find(const LrFindCommandOptions& options, const OptionTable& table);

}  // namespace learn::cli
