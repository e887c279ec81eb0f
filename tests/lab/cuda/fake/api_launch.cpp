// Functions that nvcc's host code calls: the registration of kernels and variables, and launches.
// These names are not documented; they are those of CUDA 13.0.
#include "tests/lab/cuda/fake/api_error.h"
#include "tests/lab/cuda/fake/block.h"
#include "tests/lab/cuda/fake/coverage.h"
#include "tests/lab/cuda/fake/device.h"
#include "tests/lab/cuda/fake/fat_binary.h"
#include "tests/lab/cuda/fake/limits.h"
#include "tests/lab/cuda/fake/ptx_module.h"
#include "tests/lab/cuda/fake/refusal.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/stream.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#if CUDART_VERSION < 12010  // whose headers lack the type
using cudaKernel_t = struct CUkern_st*;
#endif

using namespace fakecuda;

namespace {

/// A kernel as the host knows it: by the address of its stub.
struct Registered {
  PtxModule* module = nullptr;
  std::string name;
  int shared_limit = kSharedDefault;
};

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared;
  cudaStream_t stream;
};

// Filled before main and used after it: never destroyed.
std::map<const void*, Registered>& registered() {
  static auto& kernels = *new std::map<const void*, Registered>;
  return kernels;
}
std::map<const void*, std::pair<PtxModule*, std::string>>& variables() {
  static auto& all = *new std::map<const void*, std::pair<PtxModule*, std::string>>;
  return all;
}
std::vector<Configuration>& configurations() {
  static thread_local std::vector<Configuration> stack;
  return stack;
}

Registered* find(const void* function) {
  const auto found = registered().find(function);
  return found == registered().end() ? nullptr : &found->second;
}

const Kernel& kernel_of(const Registered& registered) {
  const Kernel* const kernel = registered.module->kernel(registered.name);
  if (kernel == nullptr) stop("kernel {} is not in the PTX of its binary", registered.name);
  return *kernel;
}

/// The launches a device refuses.
cudaError_t check_launch(const Kernel& kernel, const Registered& host, const LaunchShape& shape) {
  const dim3& grid = shape.grid;
  const dim3& block = shape.block;
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0 ||
      threads > static_cast<std::size_t>(kMaxThreads) || block.z > 64 || grid.x > 2147483647U ||
      grid.y > 65535 || grid.z > 65535)
    return cudaErrorInvalidConfiguration;
  if (threads > static_cast<std::size_t>(kernel.max_threads)) return cudaErrorLaunchOutOfResources;
  const std::size_t shared = kernel.static_shared + shape.dynamic_shared;
  if (shared > static_cast<std::size_t>(host.shared_limit)) return cudaErrorInvalidValue;
  return cudaSuccess;
}

std::vector<std::byte> copy_arguments(const Kernel& kernel, void** arguments) {
  std::vector<std::byte> bytes(kernel.parameter_bytes);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
    std::memcpy(
        bytes.data() + kernel.parameters[i].offset, arguments[i], kernel.parameters[i].bytes);
  return bytes;
}

}  // namespace

// The names are CUDA's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  auto* const module = new PtxModule(ptx_of_fat_binary(wrapper));
  remember_for_coverage(*module);
  return reinterpret_cast<void**>(module);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** module,
                            const char* host,
                            char*,
                            const char* name,
                            int,
                            uint3*,
                            uint3*,
                            dim3*,
                            dim3*,
                            int*) {
  registered()[host] = {.module = reinterpret_cast<PtxModule*>(module), .name = name};
}
void __cudaRegisterVar(
    void** module, char* host, char*, const char* name, int, std::size_t, int, int) {
  variables()[host] = {reinterpret_cast<PtxModule*>(module), name};
}

unsigned __cudaPushCallConfiguration(dim3 grid,
                                     dim3 block,
                                     std::size_t shared,
                                     CUstream_st* stream) {
  configurations().push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (configurations().empty()) stop("a launch without a configuration");
  const Configuration top = configurations().back();
  configurations().pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t handle,
                               dim3 grid,
                               dim3 block,
                               void** arguments,
                               std::size_t shared,
                               cudaStream_t stream) {
  const std::lock_guard guard(api_mutex());
  const Registered* const host = find(handle);
  if (host == nullptr) return report(cudaErrorInvalidDeviceFunction);
  const Kernel& kernel = kernel_of(*host);
  const LaunchShape shape{grid, block, shared};
  if (const cudaError_t code = check_launch(kernel, *host, shape)) return report(code);
  if (is_refused("cudaLaunchKernel")) return report(cudaErrorLaunchOutOfResources);
  if (stream != nullptr && stream_of(stream).device != current_device())
    return report(cudaErrorInvalidResourceHandle);
  enqueue(stream,
          kernel.name,
          [module = host->module, &kernel, shape, bytes = copy_arguments(kernel, arguments)] {
            run_grid(*module, kernel, shape, bytes);
            ++kernel.traffic.launches;
            kernel.traffic.threads += std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z *
                                      shape.block.x * shape.block.y * shape.block.z;
          });
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* function,
                             dim3 grid,
                             dim3 block,
                             void** arguments,
                             std::size_t shared,
                             cudaStream_t stream) {
  return __cudaLaunchKernel(reinterpret_cast<cudaKernel_t>(const_cast<void*>(function)),
                            grid,
                            block,
                            arguments,
                            shared,
                            stream);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  const std::lock_guard guard(api_mutex());
  Registered* const host = find(function);
  if (host == nullptr) return report(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
    stop("cudaFuncSetAttribute: attribute {} is not modelled", static_cast<int>(attribute));
  const auto fixed = static_cast<int>(kernel_of(*host).static_shared);
  if (value < 0 || value + fixed > kSharedOptIn) return report(cudaErrorInvalidValue);
  host->shared_limit = std::max(kSharedDefault, value + fixed);
  return cudaSuccess;
}

/// Registers are not modelled: a kernel is said to use 32.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                          const void* function,
                                                          int threads,
                                                          std::size_t dynamic_shared) {
  const std::lock_guard guard(api_mutex());
  const Registered* const host = find(function);
  if (host == nullptr) return report(cudaErrorInvalidDeviceFunction);
  const std::size_t shared = kernel_of(*host).static_shared + dynamic_shared + 1024;
  *blocks =
      std::max(1, std::min(2048 / std::max(threads, 1), static_cast<int>(kSharedOptIn / shared)));
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int threads, std::size_t dynamic_shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic_shared);
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  const std::lock_guard guard(api_mutex());
  const auto found = variables().find(symbol);
  if (found == variables().end()) return report(cudaErrorInvalidSymbol);
  const ModuleVariable* const variable = found->second.first->variable(found->second.second);
  if (variable == nullptr) stop("variable {} is not in the PTX", found->second.second);
  *address = reinterpret_cast<void*>(variable->address);
  return cudaSuccess;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
