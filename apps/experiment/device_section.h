#pragma once
#include "framework/core/dtype.h"
#include "framework/core/option_table.h"
#include "framework/runtime/context.h"
#include "framework/runtime/cuda_options.h"

#include <cstdint>
#include <string>

namespace learn {

class Learner;

/// What an experiment computes with and where.
struct DeviceSection {
  std::string precision = "fp32";
  bool flat_master = true;
  std::string loss_scale = "dynamic";
  std::string device = "auto";
  bool cuda_graph = false;
  bool winograd = true;
  CudaOptions cuda;  ///< but for `tf32`, which `precision` says
  std::int64_t threads = 0;
  std::int64_t seed = 42;

  void declare(OptionTable& table);
  /// Throws UsageError for options that contradict each other.
  void check() const;
  /// Of the context to train with. Throws DeviceError; warns of what has no effect on that device.
  [[nodiscard]] ContextOptions context_options() const;
  /// What the model computes with, and what its input is: f16, bf16 or f32.
  [[nodiscard]] DType dtype() const;
  /// Mixed precision, unless a callback that is given in full `replaces` it; CUDA graph.
  void add_callbacks(Learner& learn, bool replaced) const;
  /// Throws UsageError unless the callback `mixed_precision`, given in full, computes in what
  /// `precision` says, and no other option would make it.
  void check_replaced(const std::string& mixed_precision) const;
};

/// `--threads`, for all that computes.
void declare_threads(OptionTable& table, std::int64_t& threads);
/// `--winograd`, for all that convolves.
void declare_winograd(OptionTable& table, bool& winograd);
/// Declares the options of CUDA's libraries.
void declare_cuda_options(OptionTable& table, CudaOptions& options);

}  // namespace learn
