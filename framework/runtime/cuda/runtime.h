#pragma once
#include "framework/runtime/cuda/fault_table.h"
#include "framework/runtime/cuda/stream.h"
#include "framework/runtime/device_choice.h"
#include "framework/tensor/arena.h"

#include <any>
#include <cstddef>
#include <memory>
#include <typeindex>
#include <unordered_map>

namespace learn::cuda {

/// Codes 35 (no driver) and 100 (no device) of cudaGetDeviceCount both mean "no GPU".
[[nodiscard]] CudaStatus status();

/// Device memory by plain allocations. Throws OutOfMemoryError with the API's text.
[[nodiscard]] std::unique_ptr<PageSource> cuda_pages(int device);

/// Host memory that the device can read directly. Throws OutOfMemoryError.
[[nodiscard]] std::unique_ptr<PageSource> pinned_pages(int device);

/// One CUDA device: its compute and copy streams. The default stream is never used.
class Runtime {
 public:
  /// Throws DeviceError with the API's text.
  explicit Runtime(int device);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] int device() const noexcept { return device_; }
  /// For work that the caller enqueues: this device becomes the calling thread's current one, on
  /// which alone kernels can be launched. Other contexts, other threads and other libraries may
  /// have chosen another before.
  [[nodiscard]] Stream compute() const;
  [[nodiscard]] Stream copy() const noexcept { return copy_; }
  /// Enqueued on the compute stream; host memory must stay valid until `synchronize`. On a watched
  /// device (watch.h), `upload` and `download` wait for earlier work.
  void upload(void* device, const void* host, std::size_t bytes);
  void download(void* host, const void* device, std::size_t bytes);
  void copy_on_device(void* to, const void* from, std::size_t bytes);
  /// Waits for the compute stream; throws DeviceError if anything on it failed, and DataError if a
  /// kernel met data that it cannot accept (a class out of range). On a watched device, throws what
  /// the watch throws.
  void synchronize();
  /// Bytes of the device's memory that all processes together have.
  [[nodiscard]] std::size_t device_bytes_used() const;
  /// Memory in which kernels record such data.
  [[nodiscard]] Fault* fault(FaultKind kind) const noexcept { return faults_->device(kind); }

  /// The one `T` of this context, made as `T()` at its first use: plan caches and library handles,
  /// each known only to the family that owns it.
  template <class T>
  [[nodiscard]] T& cache() {
    std::any& slot = caches_[std::type_index(typeid(T))];
    if (!slot.has_value()) slot = std::make_shared<T>();
    return **std::any_cast<std::shared_ptr<T>>(&slot);
  }

 private:
  int device_;
  Stream compute_ = nullptr;
  Stream copy_ = nullptr;
  std::unique_ptr<FaultTable> faults_;
  std::unordered_map<std::type_index, std::any> caches_;
};

}  // namespace learn::cuda
