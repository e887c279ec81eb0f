#pragma once
#include "apps/bench/workload.h"
#include "framework/distributed/communicator.h"
#include "framework/learner/exchange.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace learn::bench {

struct StepOptions : Workload {
  std::string precision = "fp32";  ///< as in learn train --precision
  std::string device = "cpu";
  bool winograd = true;      ///< allow it for convolutions
  bool graph = false;        ///< run the step as one CUDA graph
  bool tune = true;          ///< CUDA: time cuDNN's candidates instead of trusting its heuristic
  std::int64_t threads = 0;  ///< 0: physical cores
  std::int64_t warm_up = 20;
  std::int64_t windows = 5;
  double seconds = 2.5;   ///< for all windows together
  bool one_rank = false;  ///< add DataParallel to a single process
  // The rest is for several ranks.
  Wire wire = Wire::f32;
  double bucket = 4;        ///< megabytes of gradients that are summed at once
  bool overlap = true;      ///< sum gradients during the backward pass
  bool ranks_apart = true;  ///< measure the same ranks without exchange, too
};

/// Phases of a step on the CPU, in seconds. Not measured on a device, which works asynchronously.
struct Phases {
  double forward = 0;
  double backward = 0;
  double update = 0;
};

struct StepFigures {
  std::vector<double> step;      ///< mean seconds of a step in each window
  std::int64_t steps = 0;        ///< in all windows together
  double host_cpu = 0;           ///< seconds of CPU time per step in the training thread
  double host_wall = 0;          ///< seconds to enqueue a step while no queue is full
  std::size_t operations = 0;    ///< kernels, copies and fills of a step in its graph; 0: no graph
  std::size_t persistent = 0;    ///< bytes of parameters, state, data, workspaces
  std::size_t activations = 0;   ///< maximum bytes of one step
  std::size_t device_bytes = 0;  ///< of device memory, beyond an idle context
  int threads = 0;
  Phases phases;
};

/// Steps of several ranks that train one model.
struct RanksFigures {
  /// Seconds of each step, on a GPU of a step in each window, in the order of length.
  std::vector<double> together;
  std::int64_t steps = 0;  ///< in all windows together
  double apart_best = 0;   ///< seconds of a step without exchange, of the slowest rank
  double apart_median = 0;
  double agreeing = 0;  ///< seconds per step in which rank 0 waited for the ranks to agree
  double summing = 0;   ///< seconds per step in which it waited for sums after the backward pass
  double sent = 0;      ///< bytes per step that were summed
  int threads = 0;      ///< of rank 0
};

/// Measures training steps of the learner's own loop: forward and backward pass, SGD with momentum,
/// and the additions of mixed precision, on one random batch that stays in place. After the
/// warm-up, each window has as many steps as fit its share of `seconds`, with the device idle at
/// both ends. Throws UsageError, DeviceError, and Error if the step cannot be captured in a graph.
[[nodiscard]] StepFigures measure_steps(const StepOptions& options);

/// Measures the same steps of several ranks. The ranks divide the batch. Each window has steps
/// of the joint training, and then of ranks that train their shares without exchange, so that both
/// have the same neighbours on a busy machine. All ranks call this together; rank 0's figures
/// count. Throws UsageError, DeviceError, RanksError, and Error if the step cannot be captured in a
/// graph.
[[nodiscard]] RanksFigures measure_ranks(const StepOptions& options, Communicator& ranks);

}  // namespace learn::bench
