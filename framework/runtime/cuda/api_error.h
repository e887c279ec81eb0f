#pragma once
#include "framework/core/error.h"

#include <driver_types.h>

namespace learn::cuda {

/// Throws DeviceError with the API's own name and text and the place of the call unless `code` is
/// success. The runtime's memory of that error is cleared.
void check_api(cudaError_t code, SourceLocation where = SourceLocation::current());

/// The answer of a query: false if the work is not done yet. Throws as `check_api`.
[[nodiscard]] bool is_done(cudaError_t code, SourceLocation where = SourceLocation::current());

/// Clears a handled error in the runtime, otherwise the next launch would report it. Errors that
/// have broken the context stay.
void forget_last_error() noexcept;

}  // namespace learn::cuda
