#pragma once
#include "framework/inference/predictor.h"

#include <filesystem>
#include <optional>
#include <string>

namespace learn {

/// The model of a run, or of a checkpoint, ready to be used: `path` is the folder of a run, whose
/// best weights are taken, or, if they are named, those of `weights` ("last", "epoch-0004"); or a
/// file of weights. Throws CheckpointError for what is none, is damaged, or holds a model that
/// this program does not know, DeviceError.
[[nodiscard]] Predictor load_run(const std::filesystem::path& path,
                                 const PredictorOptions& options = {},
                                 const std::optional<std::string>& weights = {});

}  // namespace learn
