#pragma once
#include "framework/runtime/cuda_report.h"

namespace learn::cuda {

[[nodiscard]] CudaReport report();
/// The devices of the report, which loads no libraries for them.
[[nodiscard]] std::vector<CudaDeviceInfo> devices();

}  // namespace learn::cuda
