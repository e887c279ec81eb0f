#include "apps/experiment/config_file.h"
#include "apps/experiment/options.h"
#include "apps/learn/cli/command.h"
#include "data/sets/registry.h"
#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/core/options/option_table.h"
#include "framework/core/version.h"
#include "framework/export/import_pytorch.h"
#include "framework/inference/saved_model.h"
#include "framework/io/atomic_file.h"
#include "framework/nn/param_store.h"
#include "framework/runs/result_path.h"
#include "models/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace learn::cli {
namespace {

struct ImportOptions {
  std::string file;                  ///< .safetensors, of PyTorch
  std::string model;                 ///< a spec; empty: from the file
  std::vector<std::string> classes;  ///< names, or one file of them by line
  std::int64_t image_size = 0;
  std::string normalize;
  std::string map;  ///< a file, or rules between semicolons
  std::string out;
  bool partial = false;
  std::int64_t seed = 42;

  /// But for the argument.
  [[nodiscard]] OptionTable table();
};

/// Normalization of the images that torchvision's weights were trained on.
const data::Normalization kImageNet{.mean = {0.485F, 0.456F, 0.406F},
                                    .std = {0.229F, 0.224F, 0.225F}};

exported::NameMap name_map(const std::string& map) {
  if (map.find('=') == std::string::npos)
    return map.empty() ? exported::NameMap() : exported::NameMap(read_text_file(map), map);
  std::string rules = map;
  std::ranges::replace(rules, ';', '\n');
  return exported::NameMap(rules, "--map");
}

/// The file's own description, if `learn export` wrote it, overridden by the options.
SavedModel description_of(const ImportOptions& o, const SafetensorsFile& file) {
  SavedModel d;
  const bool known = file.metadata().contains("learn.model");
  if (known) d = saved_model(file);
  const auto want = [&](bool given, const char* what) {
    if (!given && !known) fail<UsageError>("'{}' does not name its model: add {}", o.file, what);
  };
  want(!o.model.empty(), "--model NAME");
  want(!o.classes.empty(), "--classes A,B,..., or a file of their names");
  want(o.image_size != 0, "--image-size N");
  want(!o.normalize.empty(), "--normalize imagenet, cifar10, or R:G:B:R:G:B");
  if (!o.model.empty()) {
    d.model = o.model;
    d.file.clear();
  }
  if (!o.classes.empty()) d.classes = o.classes;
  if (d.classes.size() == 1 && std::filesystem::is_regular_file(d.classes.front()))
    d.classes = split(read_text_file(d.classes.front()), "\n");
  if (o.image_size != 0) d.input = {o.image_size, o.image_size};
  if (o.normalize == "imagenet")
    d.normalization = kImageNet;
  else if (!o.normalize.empty())
    d.normalization =
        o.normalize == "cifar10" ? data::kCifarStats : parse_normalization(o.normalize);
  return d;
}

OptionTable ImportOptions::table() {
  OptionTable t;
  t.group("Options");
  t.text("out", out, "FILE.safetensors", "the weights to write");
  t.text("model", model, "NAME", "model of the weights; 'learn models' lists the models")
      .short_name = "m";
  t.list("classes",
         classes,
         ',',
         "A,B,...|FILE",
         "names of the classes, or a file with one name per line");
  t.number("image-size", image_size, data::kImageSide, "N", "images of N x N");
  t.text("normalize",
         normalize,
         "imagenet|cifar10|R:G:B:R:G:B",
         "mean and standard deviation of the images in [0, 1]");
  t.text("map",
         map,
         "FILE|RULES",
         "rules that map names, 'theirs = ours', one per line or separated by semicolons; * "
         "matches any text; an empty right side omits a tensor");
  t.flag("partial", partial, "list tensors that do not match, and keep their initial values");
  t.number("seed", seed, kNotNegative, "N", "seed of the initial values");
  return t;
}

/// `learn import FILE.safetensors --model NAME --out FILE`: converts PyTorch weights to a file of
/// weights with a description, for `learn eval`, `predict`, `export` and `train --pretrained`.
/// Throws UsageError, CheckpointError, IoError.
int import_weights(const ImportOptions& o) {
  if (!o.out.ends_with(".safetensors"))
    fail<UsageError>("--out '{}': name the weights to write, FILE.safetensors", o.out);
  check_result_path(o.out, {o.file});
  const SavedModel description = description_of(o, SafetensorsFile(o.file));
  const exported::NameMap names = name_map(o.map);
  nn::Model model = description.make();
  Context ctx({.device = Device::cpu(), .seed = static_cast<std::uint64_t>(o.seed)});
  model.params->materialize(
      ctx, DType::f32, o.partial ? nn::InitialValues::drawn : nn::InitialValues::none);
  const WeightsReport report =
      exported::import_pytorch(o.file,
                               *model.module,
                               *model.params,
                               model.input,
                               names,
                               o.partial ? WeightsMatch::partial : WeightsMatch::strict,
                               description.classes);
  if (!report.clean())
    log::warn("[model] some tensors do not match and keep their initial values:{}",
              report.describe());
  if (report.classes.differs() && report.classes.rows_taken)
    log::info("[model] {}", report.classes.describe());
  ExperimentOptions options;
  options.model.model = description.model;
  Metadata metadata{{"learn.version", LEARN_VERSION},
                    {"learn.config", write_config(options.table(), "train")},
                    {"learn.imported", o.file}};
  describe_model(description, metadata);
  save_weights(o.out, *model.params, std::move(metadata));
  console::print(fmt::format(
      "{} of '{}' as {}: {} tensors\n", description.model, o.file, o.out, report.loaded));
  return 0;
}

}  // namespace

void register_import(Commands& commands) {
  commands.add<ImportOptions>(
      {.name = "import",
       .group = Group::use,
       .place = 3,
       .help = "import PyTorch weights",
       .arguments = {{.name = "FILE",
                      .help = "a PyTorch state dict in .safetensors format",
                      .required = true}},
       .examples = {{"Import a ResNet from torchvision",
                     "learn import resnet18.safetensors --model resnet18 --normalize imagenet "
                     "--out own.safetensors"}}},
      [](ImportOptions& o, const Parsed& parsed) {
        o.file = parsed.argument();
        return import_weights(o);
      });
}

}  // namespace learn::cli
