#include "framework/runtime/captured_work.h"

#include "framework/core/device.h"
#include "framework/runtime/cuda/graph.h"
#include "framework/runtime/cuda/runtime.h"

namespace learn {

CapturedWork::CapturedWork(Context& ctx, FunctionRef<void()> enqueue) {
  check<DeviceError>(
      ctx.device().is_cuda(), "work can be captured on a CUDA device, not on {}", ctx.device());
  if constexpr (kHaveCuda) graph_ = std::make_shared<cuda::Graph>(ctx.cuda().compute(), enqueue);
}

void CapturedWork::launch() const {
  if constexpr (kHaveCuda) graph_->launch();
}

std::size_t CapturedWork::operations() const noexcept { return graph_->nodes(); }

}  // namespace learn
