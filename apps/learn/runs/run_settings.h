#pragma once
#include "apps/experiment/config_file.h"
#include "framework/runs/run_list.h"

#include <string>
#include <vector>

namespace learn::cli {

/// Content of `config.toml` in the folder of a run.
struct RunSettings {
  std::vector<ConfigEntry> values;
  std::string problem;  ///< why it cannot be read; empty if it could
};
[[nodiscard]] RunSettings read_settings(const RunEntry& run);

/// "0.01", "0.01 (default)", "\"\"".
[[nodiscard]] std::string setting_text(const ConfigEntry& setting);

}  // namespace learn::cli
