#include "apps/experiment/model_section.h"
#include "apps/experiment/precision_section.h"
#include "apps/learn/cli/command.h"
#include "data/sets/registry.h"
#include "framework/core/console.h"
#include "framework/nn/summary.h"
#include "framework/terminal/text_table.h"
#include "models/registry.h"

#include <cstdint>
#include <string>

namespace learn::cli {
namespace {

struct ModelsOptions {
  std::string name;  ///< empty: list all
  std::int64_t classes = 10;
  std::int64_t image_size = 32;
  std::int64_t width = 0;
  PrecisionSection precision;

  /// But for the argument.
  [[nodiscard]] OptionTable table();
};

models::Task task_of(const ModelsOptions& o) {
  return {.classes = static_cast<int>(o.classes), .input = {o.image_size, o.image_size, 3}};
}

int list(const ModelsOptions& options) {
  if (options.width != 0) fail<UsageError>("--width {} needs the NAME of the model", options.width);
  if (options.precision.chosen() != "fp32" || !options.precision.keep_fp32.empty())
    fail<UsageError>("--precision and --keep-fp32 need the NAME of the model");
  TextTable table({{"model"}, {"params", TextTable::Align::right}, {"description"}});
  const auto registry = models::model_registry();
  for (const std::string& name : registry.names()) {
    const nn::Model model = models::make_model(name, task_of(options));
    table.row({name, grouped(model.params->parameter_count()), registry.help(name)});
  }
  console::print(table.to_string());
  return 0;
}

/// `learn models [NAME]`: a table of the registry, or the layers of one model as it computes in a
/// precision. Throws UsageError.
int models(const ModelsOptions& options) {
  if (options.name.empty()) return list(options);
  const ModelSection section{.model = options.name, .width = options.width};
  nn::Model model = section.make(task_of(options));
  Context ctx({.device = Device::cpu()});  // it computes one sample, to get the shapes
  model.params->materialize(ctx, DType::f32, nn::InitialValues::none);
  options.precision.apply(*model.params);
  console::print(
      nn::summary(*model.module, *model.params, model.input, ctx, options.precision.autocast()));
  return 0;
}

OptionTable ModelsOptions::table() {
  OptionTable t;
  t.group("Options");
  t.number("classes", classes, {.low = 1, .high = 1 << 20}, "N", "outputs");
  t.number("image-size", image_size, data::kImageSide, "N", "images of N x N");
  t.number("width",
           width,
           {.low = 0, .high = models::kWidth.high},
           "N",
           "width of the model; 0: its default");
  precision.declare_layers(t);
  return t;
}

}  // namespace

void register_models(Commands& commands) {
  commands.add<ModelsOptions>(
      {.name = "models",
       .place = 0,
       .help = "list models, or show the layers of one",
       .arguments = {{.name = "NAME",
                      .help = "name of a model",
                      .known = [] { return models::model_registry().names(); }}},
       .examples = {{"Show the layers of a model",
                     "learn models resnet18 --classes 5 --image-size 64"}},
       .in_ranks = true},
      [](ModelsOptions& o, const Parsed& parsed) {
        o.name = parsed.argument();
        return models(o);
      });
}

}  // namespace learn::cli
