#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/reduce/reduce_axes_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace learn::cpu {
namespace {

using kernels::AxisReduction;
using kernels::Reduction;

constexpr std::int64_t kGrain = 16384;
constexpr std::int64_t kLanes = 64;     // of a row; four vectors of the widest kind
constexpr std::int64_t kColumns = 256;  // at once; results stay in the first-level cache
constexpr std::int64_t kRows = 128;     // summed in f32 before they are added to a double

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The functions that join two elements. NaN stays in every order.
struct Sum {
  static constexpr float kStart = 0;
  float operator()(float a, float b) const { return a + b; }
};
struct Max {
  static constexpr float kStart = -kInfinity;
  float operator()(float a, float b) const { return !(a <= b) && b == b ? a : b; }
};
struct Min {
  static constexpr float kStart = kInfinity;
  float operator()(float a, float b) const { return !(a >= b) && b == b ? a : b; }
};

// A vector of any machine: compilers divide it into those that it has.
using Doubles [[gnu::vector_size(32)]] = double;

/// Adds in double.
template <class T>
double wide_sum(const T* x, std::int64_t n) {
  Doubles sums[2] = {};
  const std::int64_t whole = n / 8 * 8;
  for (std::int64_t i = 0; i < whole; i += 8)
    for (std::int64_t k = 0; k < 2; ++k) {
      const auto element = [four = x + i + 4 * k](std::int64_t j) {
        return static_cast<double>(as_float(four[j]));
      };
      sums[k] += Doubles{element(0), element(1), element(2), element(3)};
    }
  double rest = 0;
  for (std::int64_t i = whole; i < n; ++i) rest += static_cast<double>(as_float(x[i]));
  const Doubles all = sums[0] + sums[1];
  return ((all[0] + all[2]) + (all[1] + all[3])) + rest;
}

constexpr std::int64_t kLong = 2 * kLanes;

template <class T>
double sum_of_short_row(const T* x, std::int64_t n) {
  if constexpr (std::is_same_v<T, Half>) {  // a conversion takes many instructions: vectors do it
    float values[kLong];
    LEARN_VECTORIZE
    for (std::int64_t i = 0; i < n; ++i) values[i] = as_float(x[i]);
    return wide_sum(values, n);
  } else {
    return wide_sum(x, n);
  }
}

/// The sum of a row. Elements of a long one that are `kLanes` apart are added in f32 first.
template <class T>
double sum_of_row(const T* x, std::int64_t n) {
  if (n < kLong) return sum_of_short_row(x, n);
  float lanes[kLanes] = {};
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    LEARN_VECTORIZE
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] += as_float(x[i + j]);
  }
  return wide_sum(lanes, kLanes) + sum_of_short_row(x + whole, n - whole);
}

constexpr std::uint32_t kSign = 0x80000000;
constexpr std::uint32_t kLeastNumber = 0x807FFFFF;

/// Returns a key that orders floats as numbers, from 0 for -infinity to infinity, below NaN of both
/// signs. Unlike floats, whole numbers have a maximum that vectors compute without regard to order.
std::uint32_t key_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return ((bits & kSign) != 0 ? bits ^ ~kSign : bits) - kLeastNumber;
}
float float_of(std::uint32_t key) {
  const std::uint32_t bits = key + kLeastNumber;
  return std::bit_cast<float>((bits & kSign) != 0 ? bits ^ ~kSign : bits);
}

/// The extreme element of a row, or NaN if there is one.
template <class Join, class T>
double extreme_of_row(const T* x, std::int64_t n) {
  constexpr float kDirection = std::is_same_v<Join, Max> ? 1 : -1;
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, key_of(kDirection * as_float(x[i])));
  return static_cast<double>(kDirection * float_of(most));
}

template <class Join, class T>
double reduce_row(const T* x, std::int64_t n) {
  if constexpr (std::is_same_v<Join, Sum>)
    return sum_of_row(x, n);
  else
    return extreme_of_row<Join>(x, n);
}

/// Joins `to` with `rows` rows of `count` elements, `width` apart.
template <class Join, class T>
void join_rows(const T* x, std::int64_t width, std::int64_t rows, std::int64_t count, float* to) {
  constexpr Join join;
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* row = x + r * width;
    LEARN_VECTORIZE
    for (std::int64_t c = 0; c < count; ++c) to[c] = join(to[c], as_float(row[c]));
  }
}

/// Reduces `count` columns of the `n` rows of x.
template <class Join, class T>
void reduce_columns(
    const T* x, std::int64_t width, std::int64_t n, std::int64_t count, double* total) {
  float part[kColumns];
  for (std::int64_t c = 0; c < count; ++c) total[c] = static_cast<double>(Join::kStart);
  for (std::int64_t first = 0; first < n; first += kRows) {
    for (std::int64_t c = 0; c < count; ++c) part[c] = Join::kStart;
    join_rows<Join>(x + first * width, width, std::min(kRows, n - first), count, part);
    for (std::int64_t c = 0; c < count; ++c)
      if constexpr (std::is_same_v<Join, Sum>)
        total[c] += static_cast<double>(part[c]);
      else
        total[c] = static_cast<double>(Join()(static_cast<float>(total[c]), part[c]));
  }
}

void store(const AxisReduction& r, std::int64_t first, const double* values, std::int64_t count) {
  visit_floating(r.y_dtype, [&]<class T>() {
    T* y = static_cast<T*>(r.y) + first;
    for (std::int64_t i = 0; i < count; ++i)
      y[i] = from_float<T>(static_cast<float>(values[i] * r.factor));
  });
}

template <class Join, class T>
void reduce_rows(const Exec& exec, const AxisReduction& r) {
  const auto* x = static_cast<const T*>(r.x);
  exec.threads.parallel_for(r.outer,
                            std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, r.count)),
                            [&](std::int64_t begin, std::int64_t end) {
                              double results[kColumns];
                              double* const out = results;
                              for (std::int64_t first = begin; first < end; first += kColumns) {
                                const std::int64_t rows = std::min(kColumns, end - first);
                                simd::run([=, n = r.count, from = x + first * r.count] {
                                  for (std::int64_t row = 0; row < rows; ++row)
                                    out[row] = reduce_row<Join>(from + row * n, n);
                                });
                                store(r, first, results, rows);
                              }
                            });
}

template <class Join, class T>
void reduce_as(const Exec& exec, const AxisReduction& r) {
  if (r.inner == 1) return reduce_rows<Join, T>(exec, r);
  const auto* x = static_cast<const T*>(r.x);
  const std::int64_t blocks = (r.inner + kColumns - 1) / kColumns;
  const std::int64_t work = std::max<std::int64_t>(1, r.count * std::min(r.inner, kColumns));
  exec.threads.parallel_for(
      r.outer * blocks,
      std::max<std::int64_t>(1, kGrain / work),
      [&](std::int64_t begin, std::int64_t end) {
        double results[kColumns];
        double* const out = results;
        for (std::int64_t task = begin; task < end; ++task) {
          const std::int64_t outer = task / blocks;
          const std::int64_t first = task % blocks * kColumns;
          const std::int64_t count = std::min(kColumns, r.inner - first);
          const T* const from = x + outer * r.count * r.inner + first;
          const std::int64_t width = r.inner;
          const std::int64_t n = r.count;
          simd::run([=] { reduce_columns<Join>(from, width, n, count, out); });
          store(r, outer * r.inner + first, results, count);
        }
      });
}

template <class Join>
void reduce_any(const Exec& exec, const AxisReduction& r) {
  if (r.x_dtype == DType::f16)
    reduce_as<Join, Half>(exec, r);
  else if (r.x_dtype == DType::bf16)
    reduce_as<Join, BFloat16>(exec, r);
  else
    reduce_as<Join, float>(exec, r);
}

}  // namespace

void reduce_axis(const Exec& exec, const AxisReduction& r) {
  if (r.reduction == Reduction::sum)
    reduce_any<Sum>(exec, r);
  else if (r.reduction == Reduction::max)
    reduce_any<Max>(exec, r);
  else
    reduce_any<Min>(exec, r);
}

}  // namespace learn::cpu
