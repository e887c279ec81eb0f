#pragma once
#include "framework/core/threads/thread_pool.h"

#include <cstdint>
#include <utility>

/// How most of the fast CPU kernels use the vector units (convolution and matrix product use
/// simd/kernels.h instead). Plain loops, which the compiler vectorizes, are compiled for several
/// instruction sets, and the best one of the machine is selected at run time. They need
/// neither intrinsics, nor per-ISA source files (whose inline functions the linker would mix up),
/// nor ifuncs (which thread sanitizers do not survive). In short:
///
///     threads.parallel_for(n, grain, [=](std::int64_t first, std::int64_t last) {
///       simd::run([=] {
///         LEARN_VECTORIZE
///         for (std::int64_t i = first; i < last; ++i) y[i] = a[i] + b[i];
///       });
///     });
///
/// The lambda of `run` and everything it calls are inlined into one function per instruction set.
/// So it must contain only hot loops, call only inline functions, and capture pointers by value. An
/// `if` over elements becomes a blend when both sides are cheap. A float sum needs explicit lanes
/// (see cpu/reduce.cpp), because the order of additions is part of the result. Results may differ
/// between instruction sets in the last bit (fused multiply-add), but never between thread counts.
namespace learn::cpu::simd {

/// The instruction sets. `avx512_bf16` is avx512 with profitable dot products of bf16; `amx` also
/// has a matrix unit for them (simd/tiles.h).
enum class Isa : std::uint8_t { baseline, avx2, avx512, avx512_bf16, amx };

/// Returns the best instruction set of this machine. The environment variable LEARN_ISA (baseline,
/// avx2, avx512, avx512_bf16, amx) lowers it, for tests. Throws UsageError for another word.
[[nodiscard]] Isa isa();
/// Returns its word in LEARN_ISA.
[[nodiscard]] const char* name_of(Isa isa) noexcept;

namespace detail {

#if defined(__x86_64__) && defined(__GNUC__)
template <class F>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2"),
  gnu::flatten,
  gnu::noinline]] void
run_avx512(const F& body) {
  F local = body;  // captures in registers: read through a pointer, a store to the output could
                   // alias them
  local();
}
template <class F>
[[gnu::target("avx2,fma,f16c,bmi,bmi2"), gnu::flatten, gnu::noinline]] void run_avx2(
    const F& body) {
  F local = body;
  local();
}
#else
template <class F>
void run_avx512(F& body) {
  body();
}
template <class F>
void run_avx2(F& body) {
  body();
}
#endif

}  // namespace detail

/// Calls `body()`, compiled for `isa()`.
template <class F>
void run(F body) {
  switch (isa()) {
    case Isa::amx:
    case Isa::avx512_bf16:
    case Isa::avx512:
      return detail::run_avx512(body);
    case Isa::avx2:
      return detail::run_avx2(body);
    case Isa::baseline:
      return body();
  }
}

/// Calls `body()`, compiled for AVX2 at most: for large code that gains nothing from AVX-512.
template <class F>
void run_narrow(F body) {
  if (isa() == Isa::baseline) return body();
  return detail::run_avx2(body);
}

/// Runs `parallel_for` with its body compiled for each instruction set.
template <class F>
void parallel_for(ThreadPool& threads, std::int64_t n, std::int64_t grain, F body) {
  threads.parallel_for(
      n, grain, [&](std::int64_t begin, std::int64_t end) { run([=] { body(begin, end); }); });
}

/// Assigns from to `to`. g++ does not vectorize loops that assign objects of a class, which the
/// halves are.
template <class T>
void assign(T& to, const T& from) {
  if constexpr (requires { to.bits; })
    to.bits = from.bits;
  else
    to = from;
}

}  // namespace learn::cpu::simd

/// Put this before a loop whose iterations are independent although the compiler cannot prove it,
/// such as an elementwise kernel that may run in place. Without it the overlap check would send an
/// in-place call to the scalar version.
///
/// `LEARN_VECTORIZE_SUMS(a, b)` also permits to add up the float variables a and b in any order,
/// which the width of the vectors decides.
#if defined(__clang__)
#define LEARN_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define LEARN_VECTORIZE _Pragma("GCC ivdep")
#else
#define LEARN_VECTORIZE
#endif
#define LEARN_PRAGMA(words) _Pragma(#words)
#define LEARN_VECTORIZE_SUMS(...) LEARN_PRAGMA(omp simd reduction(+ : __VA_ARGS__))
