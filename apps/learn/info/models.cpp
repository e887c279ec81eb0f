#include "apps/learn/info/models.h"

#include "apps/experiment/model_section.h"
#include "framework/core/console.h"
#include "framework/nn/summary.h"
#include "framework/terminal/text_table.h"
#include "models/registry.h"

namespace learn::cli {
namespace {

models::Task task_of(const ModelsOptions& o) {
  return {.classes = static_cast<int>(o.classes), .input = {o.image_size, o.image_size, 3}};
}

int list(const ModelsOptions& options) {
  if (options.width != 0) fail<UsageError>("--width {} needs the NAME of the model", options.width);
  if (options.precision.chosen() != "fp32" || !options.precision.keep_fp32.empty())
    fail<UsageError>("--precision and --keep-fp32 need the NAME of the model");
  TextTable table({{"model"}, {"params", TextTable::Align::right}, {"what it is"}});
  const auto registry = models::model_registry();
  for (const std::string& name : registry.names()) {
    const nn::Model model = models::make_model(name, task_of(options));
    table.row({name, grouped(model.params->parameter_count()), registry.help(name)});
  }
  console::print(table.to_string());
  return 0;
}

}  // namespace

int models(const ModelsOptions& options) {
  if (options.name.empty()) return list(options);
  const ModelSection section{.model = options.name, .width = options.width};
  nn::Model model = section.make(task_of(options));
  Context ctx({.device = Device::cpu()});  // it computes one sample, to see the shapes
  model.params->materialize(ctx);
  options.precision.apply(*model.params);
  console::print(
      nn::summary(*model.module, *model.params, model.input, ctx, options.precision.autocast()));
  return 0;
}

}  // namespace learn::cli
