#pragma once
#include "framework/inference/predictor.h"

#include <filesystem>
#include <optional>
#include <string>

namespace learn {

/// Loads the model of a run or of a checkpoint for predictions. `path` is a file of weights, or the
/// folder of a run; then the best weights are loaded, or those named by `weights` ("last",
/// "epoch-0004"). Throws CheckpointError if it is neither, is damaged, or contains an unknown
/// model, and DeviceError.
[[nodiscard]] Predictor load_run(const std::filesystem::path& path,
                                 const PredictorOptions& options = {},
                                 const std::optional<std::string>& weights = {});

}  // namespace learn
