#include "framework/runtime/cuda/upload_slot.h"

#include "framework/runtime/cuda/api_error.h"

#include <cuda_runtime_api.h>

namespace learn::cuda {
namespace {

/// Events belong to the device that is current when they are made.
Runtime& made_current(Runtime& runtime) {
  (void)runtime.compute();
  return runtime;
}

}  // namespace

UploadSlot::UploadSlot(Runtime& runtime) : runtime_(made_current(runtime)) {}

void UploadSlot::release() { released_.record(runtime_.compute()); }

void UploadSlot::copy(void* device, const void* host, std::size_t bytes) {
  released_.hold_back(runtime_.copy());
  check_api(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, runtime_.copy()));
}

void UploadSlot::publish() {
  published_.record(runtime_.copy());
  published_.hold_back(runtime_.compute());
}

void UploadSlot::wait() const { published_.wait(); }

}  // namespace learn::cuda
