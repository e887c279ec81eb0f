#pragma once
#include <cstdint>

/// Sizes of the simulated device: an H200's, except the number of multiprocessors, which is small
/// so that kernels that size their grid by it get several rounds of work per block.
namespace fakecuda {

inline constexpr int kWarp = 32;
inline constexpr int kMaxThreads = 1024;
inline constexpr int kMultiprocessors = 4;
/// Shared memory of a block without and with cudaFuncSetAttribute.
inline constexpr int kSharedDefault = 48 << 10;
inline constexpr int kSharedOptIn = 227 << 10;

/// Instructions that a warp may execute in one launch of a block, after which it is said to loop
/// for ever: FAKE_CUDA_INSTRUCTIONS in the environment, or else 100 million, some seconds. The
/// op cases and a short training need fewer than ten thousand.
[[nodiscard]] std::uint64_t instruction_limit();

}  // namespace fakecuda
