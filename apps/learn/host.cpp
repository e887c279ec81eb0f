#include "apps/learn/host.h"

#include <fstream>

namespace learn::cli {

std::string proc_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t first = line.find_first_not_of(" \t", colon + 1);
    if (colon != std::string::npos && first != std::string::npos) return line.substr(first);
  }
  return {};
}

HostMemory host_memory() {
  const auto bytes = [](const char* key) -> std::size_t {
    const std::string text = proc_value("/proc/meminfo", key);  // "16384 kB"
    return text.empty() ? 0 : std::stoull(text) * 1024;
  };
  return {.available = bytes("MemAvailable"), .total = bytes("MemTotal")};
}

}  // namespace learn::cli
