#pragma once
#include "framework/core/options/option_table.h"
#include "framework/runtime/context.h"
#include "framework/runtime/cuda_options.h"

#include <cstdint>
#include <string>

namespace learn {

class Learner;

/// The device of an experiment, and its settings.
struct DeviceSection {
  std::string device = "auto";
  bool cuda_graph = false;
  bool winograd = true;
  CudaOptions cuda;  ///< except `tf32`, which the precision sets
  std::int64_t threads = 0;
  std::int64_t seed = 42;
  int local_rank = 0;  ///< among the processes that train together on this host; no option

  void declare(OptionTable& table);
  /// Returns the options of the training's context. Throws DeviceError; warns of options that have
  /// no effect on that device.
  [[nodiscard]] ContextOptions context_options(bool tf32 = false) const;
  /// Adds the CUDA graph callback if enabled.
  void add_callbacks(Learner& learn) const;
};

/// Declares `--threads`, for every command that computes.
void declare_threads(OptionTable& table, std::int64_t& threads);
/// Declares `--winograd`, for every command that runs convolutions.
void declare_winograd(OptionTable& table, bool& winograd);
/// Declares the options of CUDA's libraries.
void declare_cuda_options(OptionTable& table, CudaOptions& options);

}  // namespace learn
