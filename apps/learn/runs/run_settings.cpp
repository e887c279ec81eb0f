#include "apps/learn/runs/run_settings.h"

namespace learn::cli {

RunSettings read_settings(const RunEntry& run) {
  try {
    return {read_config_values(run.path / "config.toml", "train"), {}};
  } catch (const Error& e) {
    return {{}, e.what()};
  }
}

std::string setting_text(const ConfigEntry& setting) {
  return (setting.text.empty() ? "\"\"" : setting.text) + (setting.by_default ? " (default)" : "");
}

}  // namespace learn::cli
