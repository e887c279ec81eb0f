#include "framework/kernels/common/cpu/simd/kernels.h"

#include "framework/kernels/common/cpu/simd/tiles.h"
#include "framework/kernels/common/cpu/vectorize.h"

namespace learn::cpu::simd {

KernelList supported_kernels() {
  KernelList list{};
  int n = 0;
  list.all[n++] = &generic_kernels();
#if defined(__x86_64__)
  if (isa() >= Isa::avx2) list.all[n++] = &avx2_kernels();
  if (isa() >= Isa::avx512) list.all[n++] = &avx512_kernels();
#endif
  return list;
}

const Kernels& best_kernels() {
#if defined(__x86_64__)
  if (isa() >= Isa::avx512) return avx512_kernels();
  if (isa() == Isa::avx2) return avx2_kernels();
#endif
  return generic_kernels();
}

TileKernelList supported_tile_kernels() {
  TileKernelList list{};
#if defined(__x86_64__)
  int n = 0;
  if (isa() >= Isa::avx512_bf16) list.all[n++] = &avx512_bf16_kernels();
  if (isa() >= Isa::amx) list.all[n++] = &amx_kernels();
#endif
  return list;
}

const TileKernels* best_tile_kernels() {
#if defined(__x86_64__)
  if (isa() >= Isa::amx) return &amx_kernels();
  if (isa() == Isa::avx512_bf16) return &avx512_bf16_kernels();
#endif
  return nullptr;
}

}  // namespace learn::cpu::simd
