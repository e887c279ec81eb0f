#pragma once
#include "framework/core/dtype.h"
#include "framework/core/options/option_table.h"
#include "framework/runtime/context.h"
#include "framework/runtime/cuda_options.h"

#include <cstdint>
#include <string>

namespace learn::cli {

/// Device and precision of a trained model's computation.
struct ComputeOptions {
  std::string precision = "fp32";
  std::string device = "auto";
  bool winograd = true;
  CudaOptions cuda;  ///< except `tf32`, which `precision` determines
  std::int64_t threads = 0;

  /// `halves`: the precision may be fp16 or bf16, too.
  void declare(OptionTable& table, bool halves = false);
  [[nodiscard]] DType dtype() const;
  /// Throws DeviceError; warns of what has no effect on that device.
  [[nodiscard]] ContextOptions context_options() const;
};

}  // namespace learn::cli
