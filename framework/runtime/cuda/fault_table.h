#pragma once
#include "framework/runtime/cuda/fault.h"
#include "framework/runtime/cuda/stream.h"

namespace learn::cuda {

/// One `Fault` of each kind in device memory, and a pinned copy for the host.
class FaultTable {
 public:
  explicit FaultTable(Stream stream);
  ~FaultTable();
  FaultTable(const FaultTable&) = delete;
  FaultTable& operator=(const FaultTable&) = delete;

  [[nodiscard]] Fault* device(FaultKind kind) const noexcept;
  /// Enqueues the copy to the host that `check` reads after waiting for the stream.
  void enqueue_read();
  /// Throws DataError with sample, value and limit if a kernel noted a fault, and forgets it.
  void check();

 private:
  void clear();

  Stream stream_;
  Fault* device_ = nullptr;
  Fault* host_ = nullptr;
};

}  // namespace learn::cuda
