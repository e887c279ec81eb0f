#pragma once
#include "framework/core/function_ref.h"
#include "framework/runtime/cuda/stream.h"

#include <cstddef>

namespace learn::cuda {

/// True while a graph is captured on the stream: then nothing may wait for it.
[[nodiscard]] bool is_capturing(Stream stream);

/// Finds the fastest of several ways to do one thing on a stream.
class Race {
 public:
  explicit Race(Stream stream) : stream_(stream) {}

  /// The index below `count` whose work, put on the stream by `enqueue`, takes the least time. They
  /// are timed in turns, several rounds over, so that what slows the device down for a moment meets
  /// all of them; who is far behind drops out. The first race begins with some work that is not
  /// timed: an idle device has a slow clock. Who throws an Error is out; if all do, DeviceError
  /// with the last text. Waits for the stream.
  [[nodiscard]] std::size_t fastest(std::size_t count, FunctionRef<void(std::size_t)> enqueue);

 private:
  Stream stream_;
  bool warm_ = false;
};

}  // namespace learn::cuda
