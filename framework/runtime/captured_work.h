#pragma once
#include "framework/core/function_ref.h"
#include "framework/runtime/context.h"

#include <cstddef>
#include <memory>

namespace learn {

namespace cuda {
class Graph;
}

/// Operations of a CUDA context that were recorded once and are launched as a whole, with the same
/// operands each time: values that change in between must be in device memory.
class CapturedWork {
 public:
  /// Calls `enqueue`, whose operations are recorded and not done. Throws DeviceError on the CPU,
  /// and if one of them waits for the device or reserves memory; what `enqueue` throws passes
  /// through. The context can be used afterwards either way.
  CapturedWork(Context& ctx, FunctionRef<void()> enqueue);

  /// Does all of it. Does not wait.
  void launch() const;
  [[nodiscard]] std::size_t operations() const noexcept;

 private:
  std::shared_ptr<const cuda::Graph> graph_;
};

}  // namespace learn
