#include "framework/kernels/step/loss_scale_cpu.h"

#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <array>
#include <bit>

namespace learn::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;  // about 10 microseconds of memory traffic

using Flags = std::array<std::uint32_t, ThreadPool::kMaxChunks>;

/// 1 if `x` is infinite or NaN: its exponent is all ones. Integer arithmetic, so that the loop
/// vectorises as a reduction.
std::uint32_t non_finite(float x) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  return static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(x) & kExponent) == kExponent);
}

/// Calls `body(begin, end)`, compiled for each instruction set, for every chunk; true if all of
/// them returned 0.
template <class Body>
bool all_zero(ThreadPool& threads, std::int64_t n, Body body) {
  Flags flags{};
  threads.for_chunks(n, kGrain, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    std::uint32_t* const flag = &flags[static_cast<std::size_t>(chunk)];
    simd::run([=] { *flag = body(begin, end); });
  });
  return std::all_of(flags.begin(), flags.end(), [](std::uint32_t f) { return f == 0; });
}

}  // namespace

template <class From>
bool scale_to_f32(
    ThreadPool& threads, const From* x, float factor, float* y, GradMode mode, std::int64_t n) {
  if (mode == GradMode::overwrite)
    return all_zero(threads, n, [=](std::int64_t begin, std::int64_t end) {
      std::uint32_t bad = 0;
      LEARN_VECTORIZE
      for (std::int64_t i = begin; i < end; ++i) {
        const float value = as_float(x[i]) * factor;
        bad |= non_finite(value);
        y[i] = value;
      }
      return bad;
    });
  return all_zero(threads, n, [=](std::int64_t begin, std::int64_t end) {
    std::uint32_t bad = 0;
    LEARN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) {
      const float value = y[i] + as_float(x[i]) * factor;
      bad |= non_finite(value);
      y[i] = value;
    }
    return bad;
  });
}

template <class T>
bool all_finite(ThreadPool& threads, const T* x, std::int64_t n) {
  return all_zero(threads, n, [=](std::int64_t begin, std::int64_t end) {
    std::uint32_t bad = 0;
    for (std::int64_t i = begin; i < end; ++i) bad |= non_finite(as_float(x[i]));
    return bad;
  });
}

double sum_of_squares(ThreadPool& threads, const float* x, std::int64_t n) {
  constexpr std::int64_t kLanes = 32;
  std::array<double, ThreadPool::kMaxChunks> partial{};
  threads.for_chunks(n, kGrain, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    double* const sum = &partial[static_cast<std::size_t>(chunk)];
    simd::run([=] {
      std::array<double, kLanes> lanes{};
      std::int64_t i = begin;
      for (; i + kLanes <= end; i += kLanes)
        for (std::int64_t k = 0; k < kLanes; ++k) {
          const double v = static_cast<double>(x[i + k]);
          lanes[static_cast<std::size_t>(k)] += v * v;
        }
      for (; i < end; ++i) lanes[0] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      for (const double lane : lanes) *sum += lane;
    });
  });
  double sum = 0;
  for (const double p : partial) sum += p;
  return sum;
}

void clamp(ThreadPool& threads, float* x, float limit, std::int64_t n) {
  simd::parallel_for(threads, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
    LEARN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) {
      const float below = x[i] > limit ? limit : x[i];
      x[i] = below < -limit ? -limit : below;
    }
  });
}

#define LEARN_INSTANTIATE(T)                                                                \
  template bool scale_to_f32(ThreadPool&, const T*, float, float*, GradMode, std::int64_t); \
  template bool all_finite(ThreadPool&, const T*, std::int64_t);
LEARN_INSTANTIATE(float)
LEARN_INSTANTIATE(Half)
LEARN_INSTANTIATE(BFloat16)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
