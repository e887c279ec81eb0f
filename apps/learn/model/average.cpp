#include "apps/learn/cli/command.h"
#include "framework/core/console.h"
#include "framework/core/error.h"
#include "framework/core/options/option_table.h"
#include "framework/inference/average_weights.h"
#include "framework/runs/result_path.h"
#include "framework/runs/saved_weights.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace learn::cli {
namespace {

struct AverageOptions {
  std::vector<std::string> paths;      ///< runs' folders and checkpoints
  std::optional<std::string> weights;  ///< of runs; default "best"
  std::string out;

  /// But for the arguments.
  [[nodiscard]] OptionTable table();
};

OptionTable AverageOptions::table() {
  OptionTable t;
  t.group("Options");
  t.text("out", out, "FILE.safetensors", "the weights to write");
  t.text("weights", weights, "best|last|...", "checkpoint of the runs").when_absent = "best";
  return t;
}

/// `learn average RUN|FILE... --out FILE`: the mean of the weights of several checkpoints. Throws
/// UsageError, CheckpointError, IoError.
int average(const AverageOptions& o) {
  if (!o.out.ends_with(".safetensors"))
    fail<UsageError>("--out '{}': name the weights to write, FILE.safetensors", o.out);
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

}  // namespace

void register_average(Commands& commands) {
  commands.add<AverageOptions>(
      {.name = "average",
       .group = Group::use,
       .place = 4,
       .help = "average the weights of several checkpoints",
       .arguments = {{.name = "RUN|FILE",
                      .help = "names of runs in ./runs, run folders, or .safetensors files",
                      .required = true,
                      .several = true}},
       .examples = {{"Average three runs",
                     "learn average runs/a runs/b runs/c --out mean.safetensors"}}},
      [](AverageOptions& o, const Parsed& parsed) {
        o.paths = parsed.arguments[0];
        return average(o);
      });
}

}  // namespace learn::cli
