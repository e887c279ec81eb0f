#include "tests/lab/cuda/fake/api_error.h"
#include "tests/lab/cuda/fake/capture.h"
#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/stream.h"
#include "tests/lab/cuda/fake/survey.h"

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

using namespace fakecuda;

namespace {

bool is_host(const void* p) { return !is_device(p); }
bool is_pageable(const void* p) { return is_host(p) && !is_pinned(p); }

/// The direction must match the pointers, and device ranges must be within their allocation.
void check_copy(
    const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, const char* call) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault && (to_device != is_device(to) || from_device != is_device(from)))
    stop("{}: kind {} does not fit the pointers: to the {}, from the {}",
         call,
         static_cast<int>(kind),
         is_device(to) ? "device" : "host",
         is_device(from) ? "device" : "host");
  if (is_device(to)) check_range(to, bytes, std::string(call) + ": destination");
  if (is_device(from)) check_range(from, bytes, std::string(call) + ": source");
}

cudaError_t copy_now(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t code = forbidden_by_capture("cudaMemcpy")) return report(code);
  if (bytes == 0) return cudaSuccess;
  check_copy(to, from, bytes, kind, "cudaMemcpy");
  enqueue(nullptr, "cudaMemcpy", [=] { copy_bytes(to, from, bytes); });
  drain(stream_of(nullptr));
  return cudaSuccess;
}

}  // namespace

// The names are CUDA's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {

cudaError_t cudaMalloc(void** p, std::size_t bytes) {
  const std::lock_guard guard(api_mutex());
  if (const cudaError_t code = forbidden_by_capture("cudaMalloc")) return report(code);
  *p = nullptr;
  if (bytes == 0) return cudaSuccess;
  *p = allocate_device(bytes);
  return report(*p == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaFree(void* p) {
  const std::lock_guard guard(api_mutex());
  if (p == nullptr) return cudaSuccess;
  if (const cudaError_t code = forbidden_by_capture("cudaFree")) return report(code);
  drain_all();
  free_device(p);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** p, std::size_t bytes, unsigned) {
  const std::lock_guard guard(api_mutex());
  if (const cudaError_t code = forbidden_by_capture("cudaHostAlloc")) return report(code);
  *p = allocate_pinned(bytes);
  return report(*p == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}
cudaError_t cudaMallocHost(void** p, std::size_t bytes) { return cudaHostAlloc(p, bytes, 0); }

cudaError_t cudaFreeHost(void* p) {
  const std::lock_guard guard(api_mutex());
  if (p == nullptr) return cudaSuccess;
  if (const cudaError_t code = forbidden_by_capture("cudaFreeHost")) return report(code);
  drain_all();
  free_pinned(p);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const std::lock_guard guard(api_mutex());
  return copy_now(to, from, bytes, kind);
}

cudaError_t cudaMemcpyAsync(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const std::lock_guard guard(api_mutex());
  if (bytes == 0) return cudaSuccess;
  check_copy(to, from, bytes, kind, "cudaMemcpyAsync");
  if ((is_pageable(to) || is_pageable(from)) && stream_of(stream).capture != nullptr)
    return report(forbidden_by_capture("cudaMemcpyAsync of pageable memory", stream_of(stream)));
  if (is_pageable(from)) {
    // The driver takes a copy before it returns.
    const auto* const bytes_of = static_cast<const std::byte*>(from);
    auto staged = std::make_shared<std::vector<std::byte>>(bytes_of, bytes_of + bytes);
    enqueue(stream, "copy", [=] { copy_bytes(to, staged->data(), bytes); });
  } else {
    enqueue(stream, "copy", [=] {
      copy_bytes(to, from, bytes);
      note_work("copy", {.read = bytes, .written = bytes});
    });
  }
  if (is_pageable(to)) drain(stream_of(stream));
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* p, int value, std::size_t bytes, cudaStream_t stream) {
  const std::lock_guard guard(api_mutex());
  if (bytes == 0) return cudaSuccess;
  check_range(p, bytes, "cudaMemsetAsync");
  enqueue(stream, "set", [=] {
    set_bytes(p, value, bytes);
    note_work("set", {.written = bytes});
  });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* p, int value, std::size_t bytes) {
  const std::lock_guard guard(api_mutex());
  if (const cudaError_t code = forbidden_by_capture("cudaMemset")) return report(code);
  return cudaMemsetAsync(p, value, bytes, nullptr);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  const std::lock_guard guard(api_mutex());
  *attributes = {};
  attributes->type = is_device(p) && range_of(p).begin != 0 ? cudaMemoryTypeDevice
                     : is_pinned(p)                         ? cudaMemoryTypeHost
                                                            : cudaMemoryTypeUnregistered;
  attributes->devicePointer = is_pageable(p) ? nullptr : const_cast<void*>(p);
  attributes->hostPointer = is_device(p) ? nullptr : const_cast<void*>(p);
  return cudaSuccess;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
