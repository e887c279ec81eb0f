// Preloaded into a program, this records the kernels that it launches: when the program ends, their
// mangled names are appended to the file LEARN_KERNEL_LOG, for the ledger. It does not record the
// kernels of libraries with their own CUDA runtime. nvcc's host code calls the runtime by the names
// below.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>

#if CUDART_VERSION < 12010  // whose headers lack the type
using cudaKernel_t = struct CUkern_st*;
#endif

namespace {

struct Log {
  std::mutex mutex;
  std::map<const void*, std::string> names;  // by the address of the host's stub, or by handle
  std::set<std::string> ran;
};

// Filled before main and read after it: never destroyed.
Log& the_log() {
  static Log& log = *new Log;
  return log;
}

template <class Function>
Function* next(Function*, const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "kernel log: the CUDA runtime has no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

void note(const void* kernel) {
  Log& log = the_log();
  const std::lock_guard guard(log.mutex);
  if (const auto found = log.names.find(kernel); found != log.names.end())
    log.ran.insert(found->second);
}

struct WriteAtExit {
  WriteAtExit() = default;
  WriteAtExit(const WriteAtExit&) = delete;
  WriteAtExit& operator=(const WriteAtExit&) = delete;
  ~WriteAtExit() {
    const char* const path = std::getenv("LEARN_KERNEL_LOG");
    std::FILE* const file = path != nullptr ? std::fopen(path, "a") : nullptr;
    if (file == nullptr) return;
    std::string text;
    for (const std::string& name : the_log().ran) text += name + '\n';
    // One write: programs that end at once must not cut each other's lines.
    std::setvbuf(file, nullptr, _IOFBF, text.size() + 1);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
} write_at_exit;

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

void __cudaRegisterFunction(void** module,
                            const char* host,
                            char* device,
                            const char* name,
                            int threads,
                            uint3* thread,
                            uint3* block,
                            dim3* block_size,
                            dim3* grid_size,
                            int* warp) {
  {
    const std::lock_guard guard(the_log().mutex);
    the_log().names[host] = name;
  }
  next(&__cudaRegisterFunction, "__cudaRegisterFunction")(
      module, host, device, name, threads, thread, block, block_size, grid_size, warp);
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  const cudaError_t code = next(&__cudaGetKernel, "__cudaGetKernel")(kernel, host);
  const std::lock_guard guard(the_log().mutex);
  if (const auto found = the_log().names.find(host); found != the_log().names.end())
    the_log().names[*kernel] = std::string(found->second);
  return code;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel,
                               dim3 grid,
                               dim3 block,
                               void** arguments,
                               std::size_t shared,
                               cudaStream_t stream) {
  note(kernel);
  return next(&__cudaLaunchKernel, "__cudaLaunchKernel")(
      kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaLaunchKernel(const void* host,
                             dim3 grid,
                             dim3 block,
                             void** arguments,
                             std::size_t shared,
                             cudaStream_t stream) {
  note(host);
  return next(&cudaLaunchKernel, "cudaLaunchKernel")(host, grid, block, arguments, shared, stream);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
