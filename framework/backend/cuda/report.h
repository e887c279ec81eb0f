#pragma once
#include "framework/backend/cuda_report.h"

namespace learn::backend::cuda {

[[nodiscard]] CudaReport report();

}  // namespace learn::backend::cuda
