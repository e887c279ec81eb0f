#include "apps/learn/common/run_argument.h"

#include "framework/runs/saved_weights.h"

namespace learn::cli {

void declare_runs_folder(OptionTable& t, std::optional<std::string>& out) {
  t.text("out", out, "DIR", "folder of all runs").when_absent = "runs";
}

std::filesystem::path run_argument(const std::string& name, const std::optional<std::string>& out) {
  std::filesystem::path run;
  const bool has_slash = name.find('/') != std::string::npos;
  if (!out || !has_slash) run = run_folder(name, out.value_or("runs"));
  if (out && (has_slash || run == std::filesystem::path(name)))
    fail<UsageError>("--out {} has no effect: '{}' is a path", *out, name);
  return run;
}

}  // namespace learn::cli
