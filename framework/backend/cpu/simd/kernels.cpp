#include "framework/backend/cpu/simd/kernels.h"

namespace learn::backend::cpu::simd {

KernelList supported_kernels() {
  KernelList list{};
  int n = 0;
  list.all[n++] = &generic_kernels();
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    list.all[n++] = &avx2_kernels();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    list.all[n++] = &avx512_kernels();
#endif
  return list;
}

const Kernels& best_kernels() {
  static const Kernels& best = [&]() -> const Kernels& {
    const KernelList list = supported_kernels();
    const Kernels* last = list.all[0];
    for (const Kernels* k : list.all)
      if (k != nullptr) last = k;
    return *last;
  }();
  return best;
}

}  // namespace learn::backend::cpu::simd
