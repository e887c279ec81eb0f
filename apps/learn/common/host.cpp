#include "apps/learn/common/host.h"

#include "framework/core/threads/processors.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/runtime/cuda_report.h"

#include <fmt/core.h>
#include <sys/utsname.h>

#include <fstream>
#include <thread>

namespace learn::cli {
namespace {

const char* isa_text() {
  using cpu::simd::Isa;
  switch (cpu::simd::isa()) {
    case Isa::amx:
      return "AVX-512 and, for bf16, AMX";
    case Isa::avx512_bf16:
      return "AVX-512, with dot products of bf16";
    case Isa::avx512:
      return "AVX-512";
    case Isa::avx2:
      return "AVX2";
    case Isa::baseline:
      break;
  }
  return "the baseline instructions";
}

}  // namespace

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

std::string system_text() {
  utsname system{};
  if (uname(&system) != 0) return "unknown";
  return fmt::format("{} {} {}", system.sysname, system.release, system.machine);
}

std::string processor_text() {
  const std::string model = proc_value("/proc/cpuinfo", "model name");
  return fmt::format("{}, {} hardware threads, {} cores usable, kernels use {}",
                     model.empty() ? "unknown processor" : model,
                     std::thread::hardware_concurrency(),
                     physical_cores(),
                     isa_text());
}

std::string gib_text(double bytes) { return fmt::format("{:.1f} GiB", bytes / double(1 << 30)); }

std::map<std::string, std::string> machine_facts(Device device) {
  std::map<std::string, std::string> facts{
      {"processor", processor_text()},
      {"memory", gib_text(static_cast<double>(host_memory().total))},
      {"system", system_text()}};
  if (!device.is_cpu())
    facts["gpu"] = cuda_report().devices.at(static_cast<std::size_t>(device.index)).name;
  return facts;
}

}  // namespace learn::cli
