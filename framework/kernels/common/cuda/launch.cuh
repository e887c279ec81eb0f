#pragma once
#include "framework/core/round_up.h"
#include "framework/runtime/cuda/launch_error.h"
#include "framework/runtime/cuda/stream.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace learn::cuda {

/// Launches `kernel` and reports a bad launch at once, by the kernel's name. An empty grid is no
/// launch.
template <class... Params, class... Args>
void launch(const char* name,
            void (*kernel)(Params...),
            std::int64_t blocks,
            int threads,
            Stream stream,
            Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args),
                "a kernel takes as many arguments as it declares");
  constexpr std::int64_t kMaxBlocks = 0x7FFFFFFF;
  if (blocks == 0) return;
  if (blocks > kMaxBlocks) too_large(name, blocks, "blocks of threads");
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>(
      static_cast<std::remove_reference_t<Params>>(args)...);
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) launch_failed(name, code);
}

}  // namespace learn::cuda
