#include "apps/learn/model/average.h"

#include "framework/core/console.h"
#include "framework/core/error.h"
#include "framework/inference/average_weights.h"
#include "framework/runs/result_path.h"
#include "framework/runs/saved_weights.h"

#include <fmt/core.h>

#include <filesystem>

namespace learn::cli {

OptionTable AverageOptions::table() {
  OptionTable t;
  t.group("Options");
  t.text("out", out, "FILE.safetensors", "the weights to write");
  t.text("weights", weights, "best|last|...", "which checkpoint of runs").when_absent = "best";
  return t;
}

int average(const AverageOptions& o) {
  if (!o.out.ends_with(".safetensors"))
    fail<UsageError>("--out '{}': say the weights to write, FILE.safetensors", o.out);
  std::vector<std::filesystem::path> files;
  for (const std::string& path : o.paths) {
    const std::filesystem::path found = run_folder(path, "runs");
    const bool run = std::filesystem::is_directory(found);
    files.push_back(saved_weights(found, run ? o.weights : std::nullopt));
  }
  check_result_path(o.out, files);
  average_weights(files, o.out);
  std::string text = fmt::format("{}: the mean of\n", o.out);
  for (const std::filesystem::path& file : files) text += "  " + file.string() + "\n";
  console::print(text);
  return 0;
}

}  // namespace learn::cli
