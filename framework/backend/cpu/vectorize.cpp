#include "framework/backend/cpu/vectorize.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace learn::backend::cpu::simd {
namespace {

Isa of_this_machine() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
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
