#pragma once
#include "framework/core/options/option_table.h"
#include "framework/runtime/context.h"
#include "framework/runtime/cuda_options.h"

#include <cstdint>
#include <string>

namespace learn {

class Learner;

/// Where an experiment computes, and with what.
struct DeviceSection {
  std::string device = "auto";
  bool cuda_graph = false;
  bool winograd = true;
  CudaOptions cuda;  ///< but for `tf32`, which the precision says
  std::int64_t threads = 0;
  std::int64_t seed = 42;

  void declare(OptionTable& table);
  /// Of the context to train with. Throws DeviceError; warns of what has no effect on that device.
  [[nodiscard]] ContextOptions context_options(bool tf32 = false) const;
  /// CUDA graph.
  void add_callbacks(Learner& learn) const;
};

/// `--threads`, for all that computes.
void declare_threads(OptionTable& table, std::int64_t& threads);
/// `--winograd`, for all that convolves.
void declare_winograd(OptionTable& table, bool& winograd);
/// Declares the options of CUDA's libraries.
void declare_cuda_options(OptionTable& table, CudaOptions& options);

}  // namespace learn
