#pragma once
#include "framework/runtime/cuda/event.h"
#include "framework/runtime/cuda/runtime.h"

#include <cstddef>

namespace learn::cuda {

/// Synchronization of a piece of device memory that the host fills repeatedly, in parallel with the
/// computation: filled on the copy stream, read on the compute stream.
class UploadSlot {
 public:
  explicit UploadSlot(Runtime& runtime);

  /// All work that reads the present contents has been enqueued.
  void release();
  /// Enqueues a copy that starts when the released contents are no longer needed. Host memory must
  /// not change until `wait`.
  void copy(void* device, const void* host, std::size_t bytes);
  /// Work that is enqueued from now on uses the copied data.
  void publish();
  /// Waits on the host until what was published has been read from host memory.
  void wait() const;

 private:
  Runtime& runtime_;
  Event released_, published_;
};

}  // namespace learn::cuda
