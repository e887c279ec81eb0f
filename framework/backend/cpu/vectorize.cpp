#include "framework/backend/cpu/vectorize.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <asm/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace learn::backend::cpu::simd {
namespace {

#if defined(__x86_64__) && defined(__GNUC__)
/// clang 14's __builtin_cpu_supports does not know this one.
bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

#if defined(__x86_64__) && defined(__linux__)
/// The kernel saves the tiles' 8 kB only for processes that have asked for it, once.
bool has_amx() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kBf16 = 1U << 22U;
  constexpr unsigned kTiles = 1U << 24U;
  constexpr unsigned long kTileData = 18;  // its number among the states of the processor
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kBf16) != 0 && (d & kTiles) != 0 &&
         syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, kTileData) == 0;
}
#else
bool has_amx() { return false; }
#endif

Isa of_this_machine() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return has_amx() ? Isa::amx : Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
    return Isa::avx2;
#endif
  return Isa::baseline;
}

Isa wanted() {
  const char* text = std::getenv("LEARN_ISA");
  if (text == nullptr || *text == '\0') return Isa::amx;
  const std::string_view word(text);
  if (word == "amx") return Isa::amx;
  if (word == "avx512") return Isa::avx512;
  if (word == "avx2") return Isa::avx2;
  if (word == "baseline") return Isa::baseline;
  fail<UsageError>("LEARN_ISA must be baseline, avx2, avx512 or amx, not '{}'", word);
}

}  // namespace

Isa isa() {
  static const Isa best = std::min(of_this_machine(), wanted());
  return best;
}

}  // namespace learn::backend::cpu::simd
