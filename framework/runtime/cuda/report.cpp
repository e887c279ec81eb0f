#include "framework/runtime/cuda/report.h"

#include "framework/runtime/cuda/cublas/api.h"
#include "framework/runtime/cuda/cudnn/api.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/core.h>

#include <utility>

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

/// The attribute of the link, or 0 if the runtime does not know it.
int link_attribute(cudaDeviceP2PAttr attribute, const CudaLink& link) {
  int value = 0;
  if (cudaDeviceGetP2PAttribute(&value, attribute, link.first, link.second) == cudaSuccess)
    return value;
  (void)cudaGetLastError();
  return 0;
}

bool can_access(int device, int peer) {
  int can = 0;
  if (cudaDeviceCanAccessPeer(&can, device, peer) == cudaSuccess) return can != 0;
  (void)cudaGetLastError();
  return false;
}

std::vector<CudaLink> links(std::size_t devices) {
  const int count = static_cast<int>(devices);
  std::vector<CudaLink> out;
  for (int first = 0; first < count; ++first)
    for (int second = first + 1; second < count; ++second) {
      CudaLink link{.first = first, .second = second};
      link.peer_access = can_access(first, second) && can_access(second, first);
      if (link.peer_access) {
        link.atomics = link_attribute(cudaDevP2PAttrNativeAtomicSupported, link) != 0;
        link.rank = link_attribute(cudaDevP2PAttrPerformanceRank, link);
      }
      out.push_back(link);
    }
  return out;
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
  std::vector<CudaDeviceInfo> found = devices();
  std::vector<CudaLink> between = links(found.size());
  return {.driver = cuda_version(driver),
          .runtime = cuda_version(runtime),
          .devices = std::move(found),
          .libraries = {library("cuDNN", [] { return cudnn::api().get_version; }),
                        library("cuBLASLt", [] { return cublas::api().get_version; })},
          .links = std::move(between)};
}

}  // namespace learn::cuda
