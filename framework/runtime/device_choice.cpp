#include "framework/runtime/device_choice.h"

#include "framework/core/device.h"
#include "framework/core/environment.h"
#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/runtime/cuda/report.h"
#include "framework/runtime/cuda/runtime.h"
#include "framework/runtime/cuda_library.h"

#include <fmt/core.h>

#include <charconv>
#include <string>
#include <string_view>

namespace learn {

CudaStatus cuda_status() {
  if constexpr (kHaveCuda) {
    const std::string& obstacle = load_cuda_library();
    return obstacle.empty() ? cuda::status() : CudaStatus{true, 0, obstacle};
  }
  return {false, 0, "this program was built without the CUDA backend"};
}

CudaReport cuda_report() {
  if constexpr (kHaveCuda)
    if (load_cuda_library().empty()) return cuda::report();
  return {};
}

std::string too_old(std::size_t index, const CudaDeviceInfo& gpu) {
  constexpr int kLowestMajor = 8;
  if (gpu.major >= kLowestMajor) return {};
  return fmt::format("cuda:{}, {}, has compute capability {}.{}; {}.0 is needed",
                     index,
                     gpu.name,
                     gpu.major,
                     gpu.minor,
                     kLowestMajor);
}

AutoDevice auto_device(const CudaStatus& status, const CudaReport& report) {
  if (status.devices == 0) return {Device::cpu(), status.reason};
  for (const CudaLibrary& library : report.libraries)
    if (library.version.empty()) return {Device::cpu(), library.reason};
  std::string seen;
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const CudaDeviceInfo& gpu = report.devices[i];
    const std::string reason = too_old(i, gpu);
    if (reason.empty()) return {Device::cuda(static_cast<int>(i)), gpu.name};
    seen += (seen.empty() ? "" : "; ") + reason;
  }
  return {Device::cpu(), seen};
}

AutoDevice auto_device() {
  const CudaStatus status = cuda_status();
  // The libraries are loaded only where there is a GPU to use them.
  return auto_device(status, status.devices > 0 ? cuda_report() : CudaReport{});
}

Device choose_device(std::string_view name) {
  if (name == "auto") {
    const char* const wanted = environment("LEARN_DEVICE");
    if (wanted != nullptr && std::string_view(wanted) != "auto") return choose_device(wanted);
    const AutoDevice found = auto_device();
    // Only a GPU that is not used is worth a message, not a machine without one.
    const std::string text = "[device] auto selects the CPU: " + found.reason;
    if (found.device.is_cpu() && cuda_status().devices > 0 && first_time(text))
      log::warn("{}", text);
    else if (found.device.is_cpu())
      log::debug("{}", text);
    return found.device;
  }
  if (name == "cpu") return Device::cpu();
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
  if constexpr (kHaveCuda) {
    const std::vector<CudaDeviceInfo> gpus = cuda::devices();
    const auto at = static_cast<std::size_t>(index);
    if (const std::string reason = at < gpus.size() ? too_old(at, gpus[at]) : ""; !reason.empty())
      fail<DeviceError>("device '{}' cannot be used: {}", name, reason);
  }
  return Device::cuda(index);
}

Device choose_device(std::string_view name, int local_rank) {
  const Device chosen = choose_device(name);
  if (name == "auto")
    if (const char* const wanted = environment("LEARN_DEVICE")) name = wanted;
  const bool numbered = name != "cuda" && name != "auto";
  if (chosen.is_cpu() || numbered || local_rank == 0 || cuda_status().devices == 1) return chosen;
  return choose_device(fmt::format("cuda:{}", local_rank));
}

}  // namespace learn
