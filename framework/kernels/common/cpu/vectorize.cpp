#include "framework/kernels/common/cpu/vectorize.h"

#include "framework/core/environment.h"
#include "framework/core/error.h"

#include <algorithm>
#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <asm/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace learn::cpu::simd {
namespace {

#if defined(__x86_64__) && defined(__GNUC__)
struct CpuId {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

/// Returns zeros for a leaf that the processor does not have.
CpuId cpuid(unsigned leaf, unsigned subleaf) {
  CpuId id;
  __get_cpuid_count(leaf, subleaf, &id.a, &id.b, &id.c, &id.d);
  return id;
}

/// Tests the processor's flag because clang 14's __builtin_cpu_supports does not support this one.
bool has_f16c() { return (cpuid(1, 0).c & bit_F16C) != 0; }

bool has_avx512_bf16() { return (cpuid(7, 1).a & 1U << 5U) != 0; }

/// Returns whether AVX-512 BF16 is faster than f32. AMD's computes twice as many products as f32,
/// Intel's half as many (ADR 0013).
bool has_fast_avx512_bf16() {
  const CpuId id = cpuid(0, 0);
  return has_avx512_bf16() && id.b == signature_AMD_ebx && id.c == signature_AMD_ecx &&
         id.d == signature_AMD_edx;
}
#endif

#if defined(__x86_64__) && defined(__linux__)
/// Returns whether the process may use AMX. The kernel saves the tiles' 8 kB only for processes
/// that have requested it once.
bool has_amx() {
  constexpr unsigned kBf16 = 1U << 22U;
  constexpr unsigned kTiles = 1U << 24U;
  constexpr unsigned long kTileData = 18;  // its number among the processor's states
  const unsigned features = cpuid(7, 0).d;
  return has_avx512_bf16() && (features & kBf16) != 0 && (features & kTiles) != 0 &&
         syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, kTileData) == 0;
}
#else
bool has_amx() { return false; }
#endif

Isa of_this_machine() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return has_amx() ? Isa::amx : has_fast_avx512_bf16() ? Isa::avx512_bf16 : Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
    return Isa::avx2;
#endif
  return Isa::baseline;
}

constexpr Isa kAll[] = {Isa::baseline, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx};

Isa wanted() {
  const char* const text = environment("LEARN_ISA");
  if (text == nullptr) return Isa::amx;
  const std::string_view word(text);
  for (const Isa isa : kAll)
    if (word == name_of(isa)) return isa;
  fail<UsageError>("LEARN_ISA must be baseline, avx2, avx512, avx512_bf16 or amx, not '{}'", word);
}

}  // namespace

const char* name_of(Isa isa) noexcept {
  switch (isa) {
    case Isa::amx:
      return "amx";
    case Isa::avx512_bf16:
      return "avx512_bf16";
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::baseline:
      break;
  }
  return "baseline";
}

Isa isa() {
  static const Isa best = std::min(of_this_machine(), wanted());
  return best;
}

}  // namespace learn::cpu::simd
