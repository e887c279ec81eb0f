#include "framework/runtime/exec.h"

#include "framework/runtime/cuda/runtime.h"
#include "framework/tensor/arena.h"

#include <utility>

namespace learn::cuda {

Fault* Exec::fault(FaultKind kind) const { return runtime.fault(kind); }

FloatWorkspace::FloatWorkspace(const Exec& exec, std::int64_t floats) {
  auto block = std::make_shared<Storage>(
      exec.workspace.allocate(static_cast<std::size_t>(floats) * sizeof(float)));
  memory_ = std::shared_ptr<void>(block, block->data());
}

}  // namespace learn::cuda
