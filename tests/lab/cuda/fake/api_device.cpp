// Devices named "FAKE (no GPU)": their limits are an H200's.
#include "tests/lab/cuda/fake/api_error.h"
#include "tests/lab/cuda/fake/capture.h"
#include "tests/lab/cuda/fake/device.h"
#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/limits.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/stream.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace fakecuda;

namespace {

enum class Link { nvlink, pcie, host };

/// FAKE_CUDA_LINKS=NEAR[,N,FAR]: how the devices are linked, each nvlink, pcie or host; in groups
/// of N by NEAR, and otherwise by FAR.
struct Links {
  Link near = Link::nvlink;
  int group = 1 << 20;
  Link far = Link::nvlink;
};

Link link_named(std::string_view name) {
  if (name == "nvlink") return Link::nvlink;
  if (name == "pcie") return Link::pcie;
  if (name == "host") return Link::host;
  stop("FAKE_CUDA_LINKS has '{}'; a link is nvlink, pcie or host", name);
}

Links links() {
  const char* const text = std::getenv("FAKE_CUDA_LINKS");
  if (text == nullptr) return {};
  char near[8] = "";
  char far[8] = "";
  Links links;
  const int parts = std::sscanf(text, "%7[a-z],%d,%7[a-z]", near, &links.group, far);
  if ((parts != 1 && parts != 3) || links.group < 1)
    stop("FAKE_CUDA_LINKS is '{}'; it may be like pcie, or like nvlink,2,pcie", text);
  links.near = link_named(near);
  links.far = parts == 3 ? link_named(far) : links.near;
  return links;
}

Link fastest_link() { return std::min(links().near, links().far); }

Link link_between(int a, int b) {
  const Links all = links();
  return a / all.group == b / all.group ? all.near : all.far;
}

cudaError_t check_device(int device) {
  return report(device >= 0 && device < device_count() ? cudaSuccess : cudaErrorInvalidDevice);
}

}  // namespace

namespace fakecuda {

int device_count() {
  const char* const text = std::getenv("FAKE_CUDA_DEVICES");
  if (text == nullptr) return 1;
  const int count = std::atoi(text);
  if (count < 1) stop("FAKE_CUDA_DEVICES is '{}'; it must be a number above 0", text);
  return count;
}

int& current_device() {
  static thread_local int device = 0;
  return device;
}

}  // namespace fakecuda

// The names are CUDA's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  const cudaError_t code = check_device(device);
  if (code == cudaSuccess) current_device() = device;
  return code;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t code = check_device(device)) return code;
  *properties = {};
  properties->pciBusID = device;
  std::strcpy(properties->name, "FAKE (no GPU)");
  const char* const capability = std::getenv("FAKE_CUDA_CAPABILITY");
  if (std::sscanf(capability != nullptr ? capability : "9.0",
                  "%d.%d",
                  &properties->major,
                  &properties->minor) != 2)
    stop("FAKE_CUDA_CAPABILITY is '{}'; it may be like 7.5", capability);
  properties->totalGlobalMem = device_bytes_total();
  properties->multiProcessorCount = kMultiprocessors;
  properties->warpSize = kWarp;
  properties->maxThreadsPerBlock = kMaxThreads;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->regsPerBlock = 65536;
  properties->regsPerMultiprocessor = 65536;
  properties->sharedMemPerBlock = kSharedDefault;
  properties->sharedMemPerBlockOptin = kSharedOptIn;
  properties->sharedMemPerMultiprocessor = kSharedOptIn + 1024;
  properties->l2CacheSize = 50 << 20;
  properties->memoryBusWidth = 6144;
  properties->unifiedAddressing = 1;
  properties->concurrentKernels = 1;
  properties->asyncEngineCount = 2;
  const int blocks[] = {kMaxThreads, kMaxThreads, 64};
  const int grids[] = {2147483647, 65535, 65535};
  std::memcpy(properties->maxThreadsDim, blocks, sizeof(blocks));
  std::memcpy(properties->maxGridSize, grids, sizeof(grids));
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (const cudaError_t code = check_device(device)) return code;
  if (const cudaError_t code = check_device(peer)) return code;
  *can = device != peer && link_between(device, peer) != Link::host;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  if (const cudaError_t code = check_device(from)) return code;
  if (const cudaError_t code = check_device(to)) return code;
  if (from == to) return report(cudaErrorInvalidDevice);
  const Link link = link_between(from, to);
  switch (attribute) {
    case cudaDevP2PAttrPerformanceRank:
      *value = link == fastest_link() ? 0 : 1;
      break;
    case cudaDevP2PAttrNativeAtomicSupported:
      *value = link == Link::nvlink;
      break;
    default:
      stop("cudaDeviceGetP2PAttribute: attribute {} is not modelled", static_cast<int>(attribute));
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const cudaError_t code = check_device(device)) return code;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = kMultiprocessors;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = kMaxThreads;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = kSharedDefault;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = kSharedOptIn;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = kSharedOptIn + 1024;
      break;
    case cudaDevAttrWarpSize:
      *value = kWarp;
      break;
    case cudaDevAttrL2CacheSize:
      *value = 50 << 20;
      break;
    default:
      stop("cudaDeviceGetAttribute: attribute {} is not modelled", static_cast<int>(attribute));
  }
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total) {
  const std::lock_guard guard(api_mutex());
  *total = device_bytes_total();
  *available = *total - device_bytes_used();
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard guard(api_mutex());
  if (const cudaError_t code = forbidden_by_capture("cudaDeviceSynchronize")) return report(code);
  drain_all();
  return cudaSuccess;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

struct AtExit {
  AtExit() = default;
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;
  ~AtExit() { check_leaks(); }
} at_exit;

}  // namespace
