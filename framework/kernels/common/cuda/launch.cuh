#pragma once
#include "framework/core/round_up.h"
#include "framework/runtime/cuda/launch_error.h"
#include "framework/runtime/cuda/stream.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace learn::cuda {

/// The number of blocks of a launch and the threads of each block.
struct Grid {
  std::int64_t blocks;
  int threads;
};

/// Returns a grid of one block.
[[nodiscard]] inline Grid single_block(int threads) { return {1, threads}; }
/// Returns a grid with a thread for each of n, in blocks of `threads`.
[[nodiscard]] inline Grid thread_each(std::int64_t n, int threads) {
  return {ceil_div(n, threads), threads};
}
/// Returns a grid with a warp for each of n, in blocks of `threads`.
[[nodiscard]] inline Grid warp_each(std::int64_t n, int threads) {
  return thread_each(n * 32, threads);
}

/// Launches `kernel` and reports a failed launch at once, under the kernel's name. Does nothing for
/// an empty grid.
template <class... Params, class... Args>
void launch(
    const char* name, void (*kernel)(Params...), const Grid& grid, Stream stream, Args&&... args) {
  static_assert(sizeof...(Params) == sizeof...(Args),
                "a kernel takes as many arguments as it declares");
  constexpr std::int64_t kMaxBlocks = 0x7FFFFFFF;
  if (grid.blocks == 0) return;
  if (grid.blocks > kMaxBlocks) too_large(name, grid.blocks, "blocks of threads");
  kernel<<<static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.threads), 0, stream>>>(
      static_cast<std::remove_reference_t<Params>>(args)...);
  const cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess) launch_failed(name, code);
}

}  // namespace learn::cuda
