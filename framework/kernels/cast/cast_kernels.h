#pragma once
#include "framework/kernels/common/cpu/cast.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"

#include <algorithm>
#include <cstdint>

namespace learn::cpu {

/// Sets every element to `value`.
template <class Bits>
void fill(ThreadPool& threads, Bits* x, Bits value, std::int64_t n) {
  constexpr std::int64_t kGrain = 65536;
  threads.parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(x + begin, x + end, value);
  });
}

}  // namespace learn::cpu

namespace learn::cuda {

/// Computes y (+)= x. If From is To, it always adds, because overwriting is a plain copy.
template <class From, class To>
void cast(Stream stream, const From* x, To* y, GradMode mode, std::int64_t n);
/// Sets every element to `value`, the bits of one element of 1, 2, 4 or 8 bytes.
template <class Bits>
void fill(Stream stream, Bits* x, Bits value, std::int64_t n);

}  // namespace learn::cuda
