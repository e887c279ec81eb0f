#include "framework/backend/cpu/vectorize.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
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

Isa of_this_machine() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
    return Isa::avx2;
#endif
  return Isa::baseline;
}

Isa wanted() {
  const char* text = std::getenv("LEARN_ISA");
  if (text == nullptr || *text == '\0') return Isa::avx512;
  const std::string_view word(text);
  if (word == "avx512") return Isa::avx512;
  if (word == "avx2") return Isa::avx2;
  if (word == "baseline") return Isa::baseline;
  fail<UsageError>("LEARN_ISA must be baseline, avx2 or avx512, not '{}'", word);
}

}  // namespace

Isa isa() {
  static const Isa best = std::min(of_this_machine(), wanted());
  return best;
}

}  // namespace learn::backend::cpu::simd
