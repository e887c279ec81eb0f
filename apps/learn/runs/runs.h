#pragma once
#include "framework/core/options/option_table.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace learn::cli {

struct RunsOptions {
  std::vector<std::string> names;  ///< of runs, or paths of their folders, or "last"
  std::optional<std::string> out;  ///< folder of all runs; default "runs"
  std::optional<std::string> sort;
  bool reverse = false;
  std::vector<std::string> status;  ///< of those to list; all if empty
  bool wide = false;
  bool csv = false;
  bool json = false;
  bool remove = false;
  bool yes = false;  ///< remove without asking

  /// But for the arguments.
  [[nodiscard]] OptionTable table();
};

/// `learn runs [RUN...]`: lists runs, shows one in full, compares several, or removes them. Throws
/// UsageError, IoError.
int runs(const RunsOptions& options);

}  // namespace learn::cli
