#pragma once
#include <cstdint>

/// How kernels report data that the host would have refused: they note the first fault in device
/// memory, continue, and the next synchronization throws. So no step waits for a check.
namespace learn::cuda {

/// Kinds of invalid data that only the device can detect.
enum class FaultKind : std::uint8_t { cross_entropy_class, hit_class, sample_index };
inline constexpr int kFaultKinds = 3;

/// The first fault of one kind. Plain data in device memory.
struct Fault {
  /// The lowest faulty index since the last synchronization in the upper half, and its value in the
  /// lower, 32 bits each: the lowest word wins, in any order of threads. All ones: no fault.
  unsigned long long first;
  /// How many values are allowed, from 0 on.
  long long limit;
};
inline constexpr unsigned long long kNoFault = ~0ULL;

}  // namespace learn::cuda
