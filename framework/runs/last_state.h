#pragma once
#include "framework/io/checkpoint.h"
#include "framework/io/file_system.h"
#include "framework/io/safetensors.h"

#include <filesystem>
#include <memory>
#include <string>

namespace learn {

/// The state that a run resumes from.
struct LastState {
  std::unique_ptr<SafetensorsFile> file;
  std::string problem;  ///< why it is not `last.safetensors`, as text; empty if it is
};

/// Returns, in the folder of a run's checkpoints, `last.safetensors`, or, if that is missing,
/// damaged or not the state of a training, `last.prev.safetensors`, the previous one. Throws
/// CheckpointError if neither is whole.
[[nodiscard]] LastState find_last_state(const std::filesystem::path& weights);

/// Loads it as `load_state` does. If it is the one before the last, warns, and sets the last aside.
void load_last_state(const std::filesystem::path& weights,
                     const LastState& state,
                     VisitState visit);

/// Renames a damaged `last.safetensors` to `last.damaged.safetensors`, so that the next save does
/// not keep it in place of the state before it, the only one that is whole. Nothing if there is no
/// `last.safetensors`. Throws IoError.
void set_last_state_aside(const std::filesystem::path& weights, FileSystem& files = disk());

}  // namespace learn
