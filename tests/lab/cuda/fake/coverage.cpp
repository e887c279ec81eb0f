#include "tests/lab/cuda/fake/coverage.h"

#include "tests/lab/cuda/fake/ptx_module.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace fakecuda {
namespace {

std::vector<const PtxModule*>& modules() {
  static auto& all = *new std::vector<const PtxModule*>;
  return all;
}

/// One line per source line: kernel, file:line, times.
void write_kernel(std::FILE* file, const PtxModule& module, const Kernel& kernel) {
  std::map<std::string, std::uint64_t> times;
  for (std::size_t i = 0; i < kernel.code.size(); ++i) {
    const Place& place = module.place(kernel.origins[i].place);
    if (place.line != 0)
      times[module.file(place.file) + ":" + std::to_string(place.line)] += kernel.executed[i];
  }
  for (const auto& [line, count] : times)
    std::fprintf(file,
                 "%s %s %llu\n",
                 kernel.name.c_str(),
                 line.c_str(),
                 static_cast<unsigned long long>(count));
}

void write_traffic(std::FILE* file, const PtxModule&, const Kernel& kernel) {
  const auto [launches, threads, read, written] = kernel.traffic;
  std::fprintf(file,
               "%s %llu %llu %llu %llu\n",
               kernel.name.c_str(),
               static_cast<unsigned long long>(launches),
               static_cast<unsigned long long>(threads),
               static_cast<unsigned long long>(read),
               static_cast<unsigned long long>(written));
}

using Write = void (*)(std::FILE*, const PtxModule&, const Kernel&);

/// Appends what `write` has to say of each kernel to the file that a variable names, if one does.
void write_all(const char* variable, Write write) {
  const char* const path = std::getenv(variable);
  if (path == nullptr) return;
  std::FILE* const file = std::fopen(path, "a");
  if (file == nullptr) return;
  for (const PtxModule* module : modules())
    for (const auto& [name, kernel] : module->read_kernels()) write(file, *module, *kernel);
  std::fclose(file);
}

struct AtExit {
  AtExit() = default;
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;
  ~AtExit() {
    write_all("FAKE_CUDA_COVERAGE", write_kernel);
    write_all("FAKE_CUDA_TRAFFIC", write_traffic);
  }
} at_exit;

}  // namespace

void remember_for_coverage(const PtxModule& module) { modules().push_back(&module); }

}  // namespace fakecuda
