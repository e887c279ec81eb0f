#include "apps/learn/run_settings.h"

#include "apps/experiment/config_file.h"

namespace learn::cli {

RunSettings read_settings(const RunEntry& run) {
  try {
    return {read_config_values(run.path / "config.toml", "train"), {}};
  } catch (const Error& e) {
    return {{}, e.what()};
  }
}

}  // namespace learn::cli
