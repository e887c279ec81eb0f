#pragma once
#include "framework/runtime/cuda_report.h"

namespace learn::cuda {

[[nodiscard]] CudaReport report();

}  // namespace learn::cuda
