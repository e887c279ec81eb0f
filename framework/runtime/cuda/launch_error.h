#pragma once
#include <driver_types.h>

#include <cstdint>

/// The error of a failed `launch`. Apart from `launch`, so that nvcc never reads the headers of
/// errors.
namespace learn::cuda {

/// Throws DeviceError with the kernel's name and the API's text.
[[noreturn]] void launch_failed(const char* kernel, cudaError_t code);
/// Throws DeviceError: `amount` of `what` is more than a kernel can count.
[[noreturn]] void too_large(const char* kernel, std::int64_t amount, const char* what);

}  // namespace learn::cuda
