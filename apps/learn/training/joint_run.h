#pragma once
#include "apps/experiment/experiment.h"
#include "apps/learn/training/train_options.h"
#include "framework/distributed/communicator.h"

#include <string>

namespace learn::cli {

/// A share of the processor for one of the ranks on this host: its cores divided by the ranks that
/// may run on them. All ranks call this together.
[[nodiscard]] int threads_of_rank(Communicator& ranks);

/// Sets the threads of this rank to its share, unless the user chose a number, and its place among
/// the GPUs of the host. Without ranks (null)
/// it does nothing. All ranks call this together.
void share_processors(DeviceSection& device, Communicator* ranks);

/// Lets the experiment train together with the other ranks. `config` is its configuration. Without
/// ranks (null) it does nothing. All ranks call this together. Throws RanksError that names a rank
/// and the difference if another rank has another version, configuration or other data.
void join_ranks(Experiment& experiment, const std::string& config, Communicator* ranks);

/// Ends the training together. The other ranks end then, and this one continues alone.
void part_ranks(Experiment& experiment);

/// Returns the text of rank 0, on all ranks; without ranks the text itself. `purpose` is for the
/// message of a rank that waits for it in vain: "the folder of the run".
std::string share_text(const std::string& of_rank_0,
                       const std::string& purpose,
                       Communicator* ranks);
/// The purpose of the text that `train_as_other_rank` waits for: the path of the run's folder.
inline constexpr const char* kRunFolder = "the folder of the run";

/// Trains as another rank than 0, which writes no run, and returns the exit code.
[[nodiscard]] int train_as_other_rank(Experiment& experiment,
                                      const TrainOptions& options,
                                      Communicator& ranks);

}  // namespace learn::cli
