#pragma once
#include "framework/runtime/cuda/fault.h"

#include <cstdint>

namespace learn::cuda {

/// Notes that `value` at `place` is not in [0, limit). Places and values beyond 32 bits are noted
/// as the largest or smallest of them.
__device__ inline void note_fault(Fault* fault,
                                  std::int64_t place,
                                  std::int64_t value,
                                  std::int64_t limit) {
  const std::int64_t low = value < -0x80000000LL ? -0x80000000LL : value;
  const auto shown = static_cast<std::uint32_t>(low > 0x7FFFFFFFLL ? 0x7FFFFFFFLL : low);
  const auto where = static_cast<unsigned long long>(place > 0x7FFFFFFFLL ? 0x7FFFFFFFLL : place);
  atomicMin(&fault->first, (where << 32U) | shown);
  atomicExch(reinterpret_cast<unsigned long long*>(&fault->limit),
             static_cast<unsigned long long>(limit));
}

}  // namespace learn::cuda
