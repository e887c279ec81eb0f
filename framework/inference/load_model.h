#pragma once
#include "framework/inference/saved_model.h"
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

/// Loads the model of a run, or of a checkpoint, with its weights; see `load_run`.
[[nodiscard]] LoadedModel load_model(const std::filesystem::path& path,
                                     const ContextOptions& options = {},
                                     const std::optional<std::string>& weights = {});

}  // namespace learn
