#include "apps/learn/models.h"

#include "apps/learn/suggest.h"
#include "framework/nn/summary.h"
#include "framework/report/text_table.h"
#include "models/registry.h"

#include <fmt/core.h>

namespace learn::cli {
namespace {

models::ModelOptions options_of(const ModelsOptions& o) {
  return {.classes = static_cast<int>(o.classes),
          .input = {o.image_size, o.image_size, 3},
          .width = o.width};
}

int list(const ModelsOptions& options) {
  TextTable table({{"model"}, {"params", TextTable::Align::right}, {"what it is"}});
  const auto registry = models::model_registry();
  for (const auto& [name, entry] : registry.entries())
    table.row(
        {name, grouped(entry.value(options_of(options)).params->parameter_count()), entry.help});
  fmt::print("{}", table.to_string());
  return 0;
}

}  // namespace

int models(const ModelsOptions& options) {
  if (options.name.empty()) return list(options);
  require_known("model", options.name, models::model_registry().names());
  Context ctx({.device = Device::cpu()});  // it computes one sample, to see the shapes
  nn::Model model = models::make_model(options.name, options_of(options));
  model.params->materialize(ctx);
  fmt::print("{}", nn::summary(*model.module, *model.params, model.input, ctx));
  return 0;
}

}  // namespace learn::cli
