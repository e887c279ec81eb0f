#pragma once
#include "framework/inference/saved_model.h"
#include "framework/io/safetensors.h"
#include "framework/runtime/context.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace learn {

/// A trained model with its weights, and the context that holds them.
struct LoadedModel {
  std::unique_ptr<Context> context;
  nn::Model model;
  SavedModel description;
  std::filesystem::path file;  ///< where they come from
};

/// Makes the model of a file of weights, or of a training's state, and loads it. Throws
/// CheckpointError if they do not fit the description.
[[nodiscard]] nn::Model load_model(const SafetensorsFile& file,
                                   const SavedModel& description,
                                   Context& ctx);

/// Loads the model of a run, or of a checkpoint, with its weights; see `load_run`.
[[nodiscard]] LoadedModel load_model(const std::filesystem::path& path,
                                     const ContextOptions& options = {},
                                     const std::optional<std::string>& weights = {});

}  // namespace learn
