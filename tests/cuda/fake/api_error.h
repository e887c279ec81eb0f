#pragma once
#include <cuda_runtime_api.h>

namespace fakecuda {

/// Remembers a failure for cudaGetLastError and hands it on.
cudaError_t report(cudaError_t code);

}  // namespace fakecuda
