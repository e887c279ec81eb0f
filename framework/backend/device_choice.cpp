#include "framework/backend/device_choice.h"

#include "framework/backend/cuda/runtime.h"
#include "framework/core/build.h"
#include "framework/core/error.h"

#include <charconv>

namespace learn {

CudaStatus cuda_status() {
  if constexpr (kHaveCuda) return backend::cuda::status();
  return {false, 0, "this program was built without the CUDA backend"};
}

Device choose_device(std::string_view name) {
  if (name == "auto" || name == "cpu") return Device::cpu();
  int index = 0;
  const std::string_view digits = name.substr(0, 5) == "cuda:" ? name.substr(5) : "0";
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if ((name != "cuda" && name.substr(0, 5) != "cuda:") || error != std::errc{} ||
      end != digits.data() + digits.size() || index < 0)
    fail<UsageError>("unknown device '{}': use auto, cpu, cuda or cuda:N", name);
  const CudaStatus status = cuda_status();
  if (status.devices == 0)
    fail<DeviceError>("device '{}' is not available: {}", name, status.reason);
  if (index >= status.devices)
    fail<DeviceError>("device '{}' is not available: there are {} CUDA devices, numbered from 0",
                      name,
                      status.devices);
  return Device::cuda(index);
}

}  // namespace learn
