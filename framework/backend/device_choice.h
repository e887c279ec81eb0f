#pragma once
#include "framework/core/device.h"

#include <string>
#include <string_view>

namespace learn {

/// What can be said of CUDA on this machine without using a device.
struct CudaStatus {
  bool built = false;  ///< the CUDA backend is part of this program
  int devices = 0;     ///< usable devices
  std::string reason;  ///< why there are none; empty otherwise
};

/// Asks the driver, once per call. Never throws: no driver and no device are answers, not errors.
[[nodiscard]] CudaStatus cuda_status();

/// Turns "auto", "cpu", "cuda" or "cuda:N" into a device. "auto" is the CPU while operations
/// without a CUDA twin remain. Throws UsageError for other words and DeviceError, with the reason,
/// if the device that was asked for is not there.
[[nodiscard]] Device choose_device(std::string_view name);

}  // namespace learn
