#pragma once
#include <cuda_runtime_api.h>

namespace fakecuda {

/// Remembers a failure for cudaGetLastError and hands it on.
cudaError_t report(cudaError_t code);
/// A launch inside a library has failed: cudaGetLastError remembers it, whatever the library
/// returns.
void leave_failed_launch();

}  // namespace fakecuda
