#include "framework/runtime/cuda/report.h"

#include "framework/runtime/cuda/cublas/api.h"
#include "framework/runtime/cuda/cudnn/api.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/core.h>

namespace learn::cuda {
namespace {

/// 13010 is CUDA 13.1.
std::string cuda_version(int number) {
  return number == 0 ? "" : fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

/// 91900 is cuDNN 9.19.0, 130100 is cuBLAS 13.1.0.
std::string library_version(std::size_t number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

/// `get_version()` loads the library and gives its function for that.
template <class GetVersion>
CudaLibrary library(const char* name, GetVersion get_version) {
  try {
    const auto version = get_version();
    Dl_info info{};
    (void)dladdr(reinterpret_cast<void*>(version), &info);
    return {name, library_version(version()), "", info.dli_fname != nullptr ? info.dli_fname : ""};
  } catch (const DeviceError& e) {
    return {name, "", e.what()};
  }
}

}  // namespace

std::vector<CudaDeviceInfo> devices() {
  int count = 0;  // an error leaves it untouched
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();  // the sticky copy must not surprise the next call
    return {};
  }
  std::vector<CudaDeviceInfo> out;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) == cudaSuccess)
      out.push_back(
          {properties.name, properties.totalGlobalMem, properties.major, properties.minor});
  }
  return out;
}

CudaReport report() {
  int driver = 0;
  int runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
  return {.driver = cuda_version(driver),
          .runtime = cuda_version(runtime),
          .devices = devices(),
          .libraries = {library("cuDNN", [] { return cudnn::api().get_version; }),
                        library("cuBLASLt", [] { return cublas::api().get_version; })}};
}

}  // namespace learn::cuda
