#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace learn::bench {

struct StepOptions {
  std::string model = "resnet9";
  std::int64_t width = 0;  ///< 0: the model's own
  std::int64_t batch = 64;
  std::string precision = "fp32";  ///< as learn train --precision
  std::string device = "cpu";
  bool winograd = true;      ///< convolutions may use it
  bool graph = false;        ///< the step as one CUDA graph
  bool tune = true;          ///< CUDA: time cuDNN's candidates instead of trusting its guess
  std::int64_t threads = 0;  ///< 0: physical cores
  std::int64_t warm_up = 20;
  std::int64_t windows = 5;
  double seconds = 2.5;  ///< of all windows together
};

/// Phases of a step on the CPU, in seconds: a device works while the host is elsewhere.
struct Phases {
  double forward = 0;
  double backward = 0;
  double update = 0;
};

struct StepFigures {
  std::vector<double> step;  ///< mean seconds of a step, window by window
  std::int64_t steps = 0;    ///< that all windows had
  double host_cpu = 0;       ///< seconds of CPU time the training thread needs for a step
  double host_wall = 0;      ///< seconds until a step is enqueued, where no queue is full
  std::size_t operations =
      0;  ///< kernels, copies and fills of a step in its graph; 0: there was none
  std::size_t persistent = 0;    ///< bytes of parameters, state, data, workspaces
  std::size_t activations = 0;   ///< most bytes of one step
  std::size_t device_bytes = 0;  ///< of the device's memory, beyond what an idle context has
  int threads = 0;
  Phases phases;
};

/// Measures training steps of the learner's own loop: forward and backward pass, SGD with momentum
/// and what mixed precision adds, on one random batch that stays where it is. After the warm-up
/// come the windows, each as many steps as its share of `seconds`, with the device idle at both
/// ends. Throws UsageError, DeviceError, and Error if the step cannot be a graph.
[[nodiscard]] StepFigures measure_steps(const StepOptions& options);

}  // namespace learn::bench
