#pragma once
#include "framework/core/error.h"

#include <driver_types.h>

namespace learn::backend::cuda {

/// Throws DeviceError with the API's own name and text and the place of the call unless `code` is
/// success.
void check_api(cudaError_t code, SourceLocation where = SourceLocation::current());

}  // namespace learn::backend::cuda
