#pragma once
#include "framework/core/error.h"

#include <driver_types.h>

namespace learn::cuda {

/// Throws DeviceError with the API's own name and text and the place of the call unless `code` is
/// success. The runtime's memory of that error is cleared.
void check_api(cudaError_t code, SourceLocation where = SourceLocation::current());

/// Clears the runtime's memory of an error that has been dealt with, or the next launch would be
/// blamed for it. What has broken the context stays.
void forget_last_error() noexcept;

}  // namespace learn::cuda
