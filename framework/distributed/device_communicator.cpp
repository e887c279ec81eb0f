// Part of learn_kernels, which has the calls into the CUDA library.
#include "framework/distributed/device_communicator.h"

#include "framework/core/device.h"
#include "framework/distributed/cuda/nccl_communicator.h"
#include "framework/distributed/cuda/nccl_library.h"
#include "framework/runtime/context.h"
#include "framework/runtime/cuda_library.h"

namespace learn {

std::unique_ptr<Communicator> device_communicator(Communicator& host,
                                                  Context& ctx,
                                                  std::chrono::milliseconds deadline) {
  cuda::Runtime& runtime = ctx.cuda();
  if constexpr (kHaveCuda) return cuda::open_nccl(host, runtime, deadline);
  return nullptr;
}

NcclReport nccl_report() {
  if constexpr (kHaveCuda)
    if (load_cuda_library().empty()) return cuda::nccl_report();
  return {.reason = "it needs the CUDA backend"};
}

}  // namespace learn
