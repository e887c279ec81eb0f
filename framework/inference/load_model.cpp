#include "framework/inference/load_model.h"

#include "framework/core/error.h"
#include "framework/io/checkpoint.h"
#include "framework/runs/saved_weights.h"

namespace learn {
namespace {

/// A file of a few bytes may claim to be the weights of any model; memory is allocated only after
/// checking that it contains enough numbers.
void check_size(const SafetensorsFile& file, const SavedModel& description, nn::Model& model) {
  std::int64_t there = 0;
  for (const auto& [name, entry] : file.tensors()) there += entry.shape.elements();
  const std::int64_t wanted = model.params->parameter_count();
  if (there < wanted)
    fail<CheckpointError>(
        "'{}' records the model '{}', which has {} parameters, but contains {} numbers",
        file.path().string(),
        description.model,
        wanted,
        there);
}

}  // namespace

nn::Model load_model(const SafetensorsFile& file, const SavedModel& description, Context& ctx) {
  nn::Model model = description.make();
  check_size(file, description, model);
  model.params->materialize(ctx, DType::f32, nn::InitialValues::none);
  load_weights(file.path(), *model.params);
  return model;
}

LoadedModel load_model(const std::filesystem::path& path,
                       const ContextOptions& options,
                       const std::optional<std::string>& weights) {
  const SafetensorsFile file(saved_weights(path, weights));
  SavedModel description = saved_model(file);
  auto ctx = std::make_unique<Context>(options);
  nn::Model model = load_model(file, description, *ctx);
  return {std::move(ctx), std::move(model), std::move(description), file.path()};
}

}  // namespace learn
