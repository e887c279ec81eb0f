#include "framework/inference/load_run.h"

#include "framework/inference/load_model.h"

#include <utility>

namespace learn {

Predictor load_run(const std::filesystem::path& path,
                   const PredictorOptions& options,
                   const std::optional<std::string>& weights) {
  ContextOptions context = options.context;
  context.constant_weights = true;
  LoadedModel loaded = load_model(path, context, weights);
  return {
      std::move(loaded.context), std::move(loaded.model), std::move(loaded.description), options};
}

}  // namespace learn
