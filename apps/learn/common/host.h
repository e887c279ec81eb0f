#pragma once
#include "framework/core/device.h"

#include <cstddef>
#include <map>
#include <string>

namespace learn::cli {

/// The value of "key : value" in one of Linux's /proc tables; empty if the key is missing.
[[nodiscard]] std::string proc_value(const char* file, const std::string& key);

/// Memory of this machine in bytes; 0 if /proc/meminfo does not list it.
struct HostMemory {
  std::size_t available = 0;  ///< without swapping
  std::size_t total = 0;
};
[[nodiscard]] HostMemory host_memory();

/// "Linux 6.1.0 x86_64".
[[nodiscard]] std::string system_text();
/// "AMD EPYC, 2 hardware threads, 2 cores usable, kernels use AVX-512".
[[nodiscard]] std::string processor_text();
/// "15.5 GiB".
[[nodiscard]] std::string gib_text(double bytes);
/// A run's record of its machine: processor, memory, system, and the GPU if the device is one.
[[nodiscard]] std::map<std::string, std::string> machine_facts(Device device);

}  // namespace learn::cli
