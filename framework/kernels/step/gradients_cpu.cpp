#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/step/gradients_kernels.h"
#include "framework/kernels/step/step_rules.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace learn::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;  // about 10 microseconds of memory traffic

using Flags = std::array<std::uint32_t, ThreadPool::kMaxChunks>;

/// Returns 1 if `x` is infinite or NaN, that is, if its exponent is all ones. Uses integer
/// arithmetic, so that the loop vectorizes as a reduction.
std::uint32_t non_finite(float x) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  return static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(x) & kExponent) == kExponent);
}

/// Calls the body, compiled for each instruction set, for every chunk. Returns true if all calls
/// returned 0.
template <class Body>
bool all_zero(ThreadPool& threads, std::int64_t n, Body body) {
  Flags flags{};
  threads.for_chunks(n, kGrain, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    std::uint32_t* const flag = &flags[static_cast<std::size_t>(chunk)];
    simd::run([=] { *flag = body(begin, end); });
  });
  return std::all_of(flags.begin(), flags.end(), [](std::uint32_t f) { return f == 0; });
}

/// Computes y (+)= x * factor and returns whether every result is finite.
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

template <class T>
double sum_of_squares(ThreadPool& threads, const T* x, std::int64_t n) {
  constexpr std::int64_t kLanes = 32;
  std::array<double, ThreadPool::kMaxChunks> partial{};
  threads.for_chunks(n, kGrain, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    double* const sum = &partial[static_cast<std::size_t>(chunk)];
    simd::run([=] {
      std::array<double, kLanes> lanes{};
      std::int64_t i = begin;
      for (; i + kLanes <= end; i += kLanes)
        for (std::int64_t k = 0; k < kLanes; ++k) {
          const double v = static_cast<double>(as_float(x[i + k]));
          lanes[static_cast<std::size_t>(k)] += v * v;
        }
      for (; i < end; ++i) lanes[0] += as_double(x[i]) * as_double(x[i]);
      for (const double lane : lanes) *sum += lane;
    });
  });
  double sum = 0;
  for (const double p : partial) sum += p;
  return sum;
}

}  // namespace

template <class From>
void unscale(const Exec& exec,
             const From* x,
             float* y,
             StepControl* control,
             GradMode mode,
             std::int64_t n) {
  if (!scale_to_f32(exec.threads, x, control->inverse_scale, y, mode, n)) control->found_inf = 1;
}

void unscale_in_place(const Exec& exec, float* x, StepControl* control, std::int64_t n) {
  if (!scale_to_f32(exec.threads, x, control->inverse_scale, x, GradMode::overwrite, n))
    control->found_inf = 1;
}

template <class T>
void find_non_finite(const Exec& exec, const T* x, StepControl* control, std::int64_t n) {
  if (!all_finite(exec.threads, x, n)) control->found_inf = 1;
}

template <class T>
void clip_by_norm(const Exec& exec,
                  std::span<const kernels::Range<T>> ranges,
                  float* norm,
                  float max_norm,
                  StepControl* control) {
  double sum = 0;
  for (const kernels::Range<T>& range : ranges)
    sum += sum_of_squares(exec.threads, range.data, range.size);
  *norm = static_cast<float>(std::sqrt(sum));
  if (control != nullptr) step_rules::clip_by_norm(*control, *norm, max_norm);
}

template <class T>
void clip_by_value(
    const Exec& exec, T* x, float limit, const StepControl* control, std::int64_t n) {
  const float own = limit / control->grad_multiplier;
  simd::parallel_for(exec.threads, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
    LEARN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) {
      const float value = as_float(x[i]);
      const float below = value > own ? own : value;
      x[i] = from_float<T>(below < -own ? -own : below);
    }
  });
}

#define LEARN_INSTANTIATE(T)                                                         \
  template void find_non_finite(const Exec&, const T*, StepControl*, std::int64_t);  \
  template void clip_by_norm(                                                        \
      const Exec&, std::span<const kernels::Range<T>>, float*, float, StepControl*); \
  template void clip_by_value(const Exec&, T*, float, const StepControl*, std::int64_t);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE
template void unscale(const Exec&, const Half*, float*, StepControl*, GradMode, std::int64_t);
template void unscale(const Exec&, const BFloat16*, float*, StepControl*, GradMode, std::int64_t);

}  // namespace learn::cpu
