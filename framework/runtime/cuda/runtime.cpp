#include "framework/runtime/cuda/runtime.h"

#include "framework/core/log.h"
#include "framework/runtime/cuda/api_error.h"
#include "framework/runtime/cuda/launch_error.h"
#include "framework/runtime/cuda/watch.h"

#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <exception>

namespace learn::cuda {

void check_api(cudaError_t code, SourceLocation where) {
  if (code == cudaSuccess) [[likely]]
    return;
  forget_last_error();
  fail<DeviceError>(
      "{}:{}: {}: {}", where.file, where.line, cudaGetErrorName(code), cudaGetErrorString(code));
}

bool is_done(cudaError_t code, SourceLocation where) {
  if (code == cudaErrorNotReady) {
    forget_last_error();
    return false;
  }
  check_api(code, where);
  return true;
}

void forget_last_error() noexcept { (void)cudaGetLastError(); }

void launch_failed(const char* kernel, cudaError_t code) {
  fail<DeviceError>("{}: {}: {}", kernel, cudaGetErrorName(code), cudaGetErrorString(code));
}

void too_large(const char* kernel, std::int64_t amount, const char* what) {
  fail<DeviceError>(
      "{}: {} {} exceed the limit of a kernel; use smaller tensors", kernel, amount, what);
}

CudaStatus status() {
  int devices = 0;  // an error leaves it untouched
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code == cudaSuccess && devices > 0) return {true, devices, ""};
  forget_last_error();
  if (code == cudaErrorInsufficientDriver)
    return {true, 0, "no NVIDIA driver found, or it is older than the CUDA runtime"};
  if (code == cudaErrorNoDevice || code == cudaSuccess) return {true, 0, "no CUDA device found"};
  return {true, 0, fmt::format("{}: {}", cudaGetErrorName(code), cudaGetErrorString(code))};
}

namespace {

/// Result of a call that frees memory; at the end of the program the driver may be unloaded
/// already.
void log_failed(const char* call, cudaError_t code) noexcept {
  if (code != cudaSuccess && code != cudaErrorCudartUnloading)
    log::error("[cuda] {}: {}", call, cudaGetErrorString(code));
}

/// Functions that free memory wait for the device, for ever if its work waits for a lost rank. A
/// watch ends that work.
void wait_to_free(int device) noexcept {
  try {
    wait_if_watched(device);
  } catch (const std::exception& error) {
    log::debug("[cuda] memory is freed after: {}", error.what());
  }
}

class CudaPages final : public PageSource {
 public:
  explicit CudaPages(int device) : device_(device) {}

  void* allocate(std::size_t bytes) override {
    check_api(cudaSetDevice(device_));
    void* slab = nullptr;
    const cudaError_t code = cudaMalloc(&slab, bytes);
    if (code == cudaErrorMemoryAllocation) {
      forget_last_error();
      std::size_t available = 0;
      std::size_t total = 0;
      check_api(cudaMemGetInfo(&available, &total));
      fail<OutOfMemoryError>("cannot reserve {} MiB on cuda:{}: {} of {} MiB are free",
                             bytes >> 20U,
                             device_,
                             available >> 20U,
                             total >> 20U);
    }
    check_api(code);
    return slab;
  }
  void release(void* slab, std::size_t) noexcept override {
    wait_to_free(device_);
    log_failed("cudaFree", cudaFree(slab));
  }
  /// Waits for all streams, because it is not known here which one writes to it.
  void read(void* host, const void* memory, std::size_t bytes) const override {
    check_api(cudaSetDevice(device_));
    wait_if_watched(device_);
    check_api(cudaDeviceSynchronize());
    check_api(cudaMemcpy(host, memory, bytes, cudaMemcpyDeviceToHost));
  }
  Device device() const noexcept override { return Device::cuda(device_); }

 private:
  int device_;
};

class PinnedPages final : public PageSource {
 public:
  explicit PinnedPages(int device) : device_(device) {}

  void* allocate(std::size_t bytes) override {
    check_api(cudaSetDevice(device_));
    void* slab = nullptr;
    const cudaError_t code = cudaMallocHost(&slab, bytes);
    if (code == cudaErrorMemoryAllocation) {
      forget_last_error();
      fail<OutOfMemoryError>(
          "cannot reserve {} MiB of pinned host memory for cuda:{}", bytes >> 20U, device_);
    }
    check_api(code);
    return slab;
  }
  void release(void* slab, std::size_t) noexcept override {
    wait_to_free(device_);
    log_failed("cudaFreeHost", cudaFreeHost(slab));
  }
  Device device() const noexcept override { return Device::cpu(); }

 private:
  int device_;
};

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check_api(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

}  // namespace

std::unique_ptr<PageSource> cuda_pages(int device) { return std::make_unique<CudaPages>(device); }

std::unique_ptr<PageSource> pinned_pages(int device) {
  return std::make_unique<PinnedPages>(device);
}

Runtime::Runtime(int device) : device_(device) {
  check_api(cudaSetDevice(device));
  compute_ = make_stream();
  copy_ = make_stream();
  faults_ = std::make_unique<FaultTable>(compute_);
}

Runtime::~Runtime() {
  forget_watched(device_, compute_);
  caches_.clear();
  faults_.reset();
  for (Stream stream : {compute_, copy_})
    if (stream != nullptr) (void)cudaStreamDestroy(stream);
}

Stream Runtime::compute() const {
  check_api(cudaSetDevice(device_));
  return compute_;
}

void Runtime::upload(void* device, const void* host, std::size_t bytes) {
  wait_if_watched(device_);
  check_api(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, compute_));
}
void Runtime::download(void* host, const void* device, std::size_t bytes) {
  wait_if_watched(device_);
  check_api(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, compute_));
}
void Runtime::copy_on_device(void* to, const void* from, std::size_t bytes) {
  check_api(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, compute_));
}
std::size_t Runtime::device_bytes_used() const {
  std::size_t available = 0;
  std::size_t total = 0;
  check_api(cudaSetDevice(device_));
  check_api(cudaMemGetInfo(&available, &total));
  return total - available;
}
void Runtime::synchronize() {
  faults_->enqueue_read();
  wait_for(device_, compute_);
  faults_->check();
}

}  // namespace learn::cuda
