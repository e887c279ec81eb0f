#pragma once
#include "framework/core/option_table.h"
#include "framework/io/run_list.h"

#include <string>

namespace learn::cli {

/// What `config.toml` in the folder of a run says.
struct RunSettings {
  OptionValues values;
  std::string problem;  ///< why it cannot be read; empty if it could
};
[[nodiscard]] RunSettings read_settings(const RunEntry& run);

}  // namespace learn::cli
