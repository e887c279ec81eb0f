#pragma once
#include "framework/learner/history/batch_history.h"
#include "framework/learner/history/epoch_history.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::callbacks {

/// The recorded values of a run.
struct RunHistory {
  std::string name;  ///< the run's folder
  std::vector<BatchRecord> batches;
  std::vector<EpochRecord> epochs;
};

/// Reads the recorded values from the last state in a run's folder, whether the run has ended or
/// not. Throws CheckpointError if the folder holds no state.
[[nodiscard]] RunHistory read_run_history(const std::filesystem::path& run);

}  // namespace learn::callbacks
