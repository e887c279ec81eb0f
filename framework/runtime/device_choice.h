#pragma once
#include "framework/core/device.h"
#include "framework/runtime/cuda_report.h"

#include <string>
#include <string_view>

namespace learn {

/// The state of CUDA on this machine, found without using a device.
struct CudaStatus {
  bool built = false;  ///< this program was built with the CUDA backend
  int devices = 0;     ///< usable devices
  std::string reason;  ///< why no device is available; empty otherwise
};

/// Loads the CUDA backend at the first call and queries the driver at each. Does not throw: a
/// missing library, driver or device is a result, not an error.
[[nodiscard]] CudaStatus cuda_status();

/// Why a GPU cannot be used: its compute capability is below 8.0, for which the kernels are
/// compiled. Empty if it can.
[[nodiscard]] std::string too_old(std::size_t index, const CudaDeviceInfo& gpu);

struct AutoDevice {
  Device device = Device::cpu();
  std::string reason;  ///< the GPU's name, or why none is usable
};

/// The device of "auto": the first GPU with compute capability 8.0 or newer (the kernels are
/// compiled for these), if cuDNN and cuBLASLt can be loaded; otherwise the CPU. Never throws.
[[nodiscard]] AutoDevice auto_device();
/// The choice itself.
[[nodiscard]] AutoDevice auto_device(const CudaStatus& status, const CudaReport& report);

/// Turns "auto", "cpu", "cuda" or "cuda:N" into a device. "auto" is the device that LEARN_DEVICE in
/// the environment names, in the same words, or else `auto_device`. Throws UsageError for other
/// words and DeviceError, with the reason, if the requested device does not exist or is too old.
[[nodiscard]] Device choose_device(std::string_view name);
/// The device of one of several processes that a launcher started on this host: the GPU numbered
/// `local_rank`, for "cuda", or if "auto" is a GPU and the variable names none. If only one GPU is
/// visible, as some launchers have it, that one. Throws as the other.
[[nodiscard]] Device choose_device(std::string_view name, int local_rank);

}  // namespace learn
