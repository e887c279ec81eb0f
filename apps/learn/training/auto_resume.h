#pragma once
#include "apps/learn/training/train_options.h"

#include <string>
#include <string_view>

namespace learn::cli {

/// The value of --resume that starts or resumes the run of --out and --name.
inline constexpr std::string_view kAutoResume = "auto";

/// The run of `--resume auto`.
struct AutoRun {
  std::string folder;  ///< to resume; empty: the run starts in its folder, from epoch 1
  std::string config;  ///< the saved options, as a configuration file
};

/// Returns what `--resume auto` does with the run of --out and --name: resumes it if its folder has
/// a state, and otherwise starts it in exactly this folder. `asked` are the options of the call. If
/// a launcher started several processes, connects them, and all use what rank 0 finds on its disk,
/// unless the call only prints something. Throws UsageError for options that do not go with it, and
/// for a folder that is not a run's; CheckpointError for a damaged state.
[[nodiscard]] AutoRun find_auto_run(const TrainOptions& asked);

/// Keeps the saved batch if it is what halving the one asked for gives, as after lack of memory.
void keep_halved_batch(TrainingSection& training,
                       const TrainingSection& saved,
                       const TrainingSection& asked);

}  // namespace learn::cli
