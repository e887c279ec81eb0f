#include "apps/learn/cli/command.h"
#include "apps/learn/common/run_argument.h"
#include "framework/core/console.h"
#include "framework/core/options/option_table.h"
#include "framework/export/onnx/onnx.h"
#include "framework/export/passes.h"
#include "framework/export/pytorch.h"
#include "framework/export/trace.h"
#include "framework/inference/load_model.h"
#include "framework/runs/result_path.h"
#include "framework/runs/saved_weights.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace learn::cli {
namespace {

struct ExportOptions {
  std::string path;                    ///< a run's folder, a checkpoint or "last"
  std::string file;                    ///< FILE.onnx or FILE.safetensors
  std::optional<std::string> out;      ///< folder for "last"; default "runs"
  std::optional<std::string> weights;  ///< of a run; default "best"
  bool fold = false;
  bool normalize = false;
  bool softmax = false;
  bool sigmoid = false;

  /// But for the arguments.
  [[nodiscard]] OptionTable table();
};

namespace fs = std::filesystem;

std::string row(std::span<const float> values) {
  std::string text;
  for (const float value : values) text += fmt::format("{}{}", text.empty() ? "" : " ", value);
  return text;
}

/// Metadata for programs that use the model: texts, with lists separated by newlines or blanks.
std::map<std::string, std::string> metadata_of(const SavedModel& model, const ExportOptions& o) {
  return {{"model", model.model},
          {"classes", join(model.classes, "\n")},
          {"targets", metadata_name(model.target_kind)},
          {"image_size", fmt::format("{} {}", model.input.height, model.input.width)},
          {"mean", row(model.normalization.mean)},
          {"std", row(model.normalization.std)},
          {"input",
           o.normalize ? "RGB, values in [0, 1]" : "RGB, values in [0, 1], minus mean, over std"}};
}

/// Throws UsageError if the module next to the weights would replace another file.
void check_module_path(const fs::path& module) {
  check_result_path(module);
  std::error_code ignored;
  if (fs::is_regular_file(module, ignored) && !exported::is_pytorch_module(module))
    fail<UsageError>(
        "'{}', the module for PyTorch, would replace another file: use another FILE.safetensors",
        module.string());
}

OptionTable ExportOptions::table() {
  OptionTable t;
  t.group("Options");
  t.text("weights", weights, "best|last|...", "which checkpoint of a run").when_absent = "best";
  declare_runs_folder(t, out);
  t.flag("fold", fold, "fold BatchNorm into the preceding convolutions and linear layers");
  t.flag("normalize", normalize, "ONNX: accept values in [0, 1] and normalize them in the graph");
  t.flag("softmax", softmax, "ONNX: output 'probabilities' instead of 'logits'");
  t.flag("sigmoid", sigmoid, "ONNX: output 'probabilities' of several labels, each independent");
  return t;
}

/// `learn export RUN|FILE FILE.onnx|FILE.safetensors`: a trained model for another runtime. Throws
/// CheckpointError, UsageError, IoError.
int export_model(const ExportOptions& o) {
  const std::string ending = fs::path(o.file).extension().string();
  if (ending != ".onnx" && ending != ".safetensors")
    fail<UsageError>("'{}': unknown format; use FILE.onnx, or FILE.safetensors for PyTorch",
                     o.file);
  const bool onnx = ending == ".onnx";
  if (!onnx && (o.normalize || o.softmax || o.sigmoid))
    fail<UsageError>(
        "--{} is for ONNX only: the PyTorch module computes the same as the model and has a "
        "function 'normalize'",
        o.normalize ? "normalize"
        : o.softmax ? "softmax"
                    : "sigmoid");
  const fs::path weights = saved_weights(run_argument(o.path, o.out), o.weights);
  check_result_path(o.file, {weights});
  if (!onnx) check_module_path(exported::pytorch_module_path(o.file));
  const LoadedModel loaded = load_model(weights, {.device = Device::cpu()});
  const SavedModel& model = loaded.description;
  if (model.input.height == 0)
    fail<UsageError>("'{}' takes features: only models of images are exported", model.model);
  if (o.softmax) model.require(TargetKind::classes, "--softmax");
  if (o.sigmoid) model.require(TargetKind::labels, "--sigmoid");
  exported::Graph graph =
      exported::trace(*loaded.model.module, *loaded.model.params, loaded.model.input);
  exported::flatten_channels_first(graph);
  const int folded = o.fold ? exported::fold_batch_norm(graph) : 0;
  if (o.normalize)
    exported::normalize_first(graph, model.normalization.mean, model.normalization.std);
  if (model.target_kind == TargetKind::values) exported::rename_output(graph, "values");
  if (o.softmax) exported::end_in_softmax(graph);
  if (o.sigmoid) exported::end_in_sigmoid(graph);
  std::int64_t parameters = 0;
  for (const auto& [name, weight] : graph.weights) parameters += weight.shape.elements();
  std::string written = o.file;
  if (onnx) {
    exported::write_onnx(o.file, graph, metadata_of(model, o));
  } else {
    Metadata metadata;
    describe_model(model, metadata);
    exported::write_pytorch(
        o.file,
        graph,
        {.model = model.model,
         .classes = model.classes,
         .mean = {model.normalization.mean.begin(), model.normalization.mean.end()},
         .std = {model.normalization.std.begin(), model.normalization.std.end()},
         .targets = model.target_kind},
        std::move(metadata));
    written += " and " + exported::pytorch_module_path(o.file).string();
  }
  console::print(fmt::format("{} of {} as {}: {} operations, {} numbers, {} BatchNorm folded\n",
                             model.model,
                             loaded.file.string(),
                             written,
                             graph.operations.size(),
                             parameters,
                             folded));
  return 0;
}

}  // namespace

void register_export(Commands& commands) {
  commands.add<ExportOptions>(
      {.name = "export",
       .group = Group::use,
       .place = 2,
       .help = "export a trained model to ONNX or PyTorch",
       .arguments = {{.name = "RUN|FILE|last", .help = kRunHelp, .required = true},
                     {.name = "TARGET",
                      .help = "FILE.onnx; or FILE.safetensors for PyTorch, together with FILE.py",
                      .required = true}},
       .examples = {{"Export to ONNX with BatchNorm folded", "learn export last model.onnx --fold"},
                    {"Export to PyTorch", "learn export runs/train model.safetensors"}}},
      [](ExportOptions& o, const Parsed& parsed) {
        o.path = parsed.argument();
        o.file = parsed.argument(1);
        return export_model(o);
      });
}

}  // namespace learn::cli
