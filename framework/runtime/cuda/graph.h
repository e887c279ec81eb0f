#pragma once
#include "framework/core/function_ref.h"
#include "framework/runtime/cuda/stream.h"

#include <cstddef>

struct CUgraphExec_st;

namespace learn::cuda {

/// Work of one stream, captured once and launched as a whole.
class Graph {
 public:
  /// Calls `enqueue`; what that puts on `stream` is captured, not done. Throws DeviceError with the
  /// API's text; what `enqueue` throws passes through. Either way the stream can be used again.
  Graph(Stream stream, FunctionRef<void()> enqueue);

  /// Waits for the stream; for as long as the watch of the device permits (watch.h).
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// On the stream it was captured from. Throws DeviceError, and what the watch of the device
  /// throws.
  void launch() const;
  /// Kernels, copies and fills in it.
  [[nodiscard]] std::size_t nodes() const noexcept { return nodes_; }

 private:
  Stream stream_;
  int device_ = 0;
  CUgraphExec_st* exec_ = nullptr;
  std::size_t nodes_ = 0;
};

}  // namespace learn::cuda
