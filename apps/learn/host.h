#pragma once
#include <cstddef>
#include <string>

namespace learn::cli {

/// The value behind "key : value" in one of Linux's /proc tables; empty if it is not there.
[[nodiscard]] std::string proc_value(const char* file, const std::string& key);

/// Memory of this machine in bytes; 0 where /proc/meminfo does not say it.
struct HostMemory {
  std::size_t available = 0;  ///< without swapping
  std::size_t total = 0;
};
[[nodiscard]] HostMemory host_memory();

}  // namespace learn::cli
