#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/pool/pool_geometry_cpu.h"
#include "framework/kernels/pool/pool_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <bit>

namespace learn::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements: about 10 microseconds of memory traffic
constexpr std::int64_t kLanes = 64;     // channels processed at once

/// Replaces `best` and its `place` by `value` and `offset` if `value` is larger. NaN is larger than
/// all numbers, and the first of several NaNs stays. Uses two selects in sequence because g++ 12
/// does not vectorize a condition of two parts. Detects NaN by its bits because g++ 13 joins two
/// comparisons of floats into branches.
inline void offer(float value, std::int32_t offset, float& best, std::int32_t& place) {
  const bool open = (std::bit_cast<std::int32_t>(best) & 0x7FFFFFFF) <= 0x7F800000;
  const std::int32_t next_place = open ? offset : place;
  const float next = open ? value : best;
  place = value <= best ? place : next_place;
  best = value <= best ? best : next;
}

/// Finds the maximum of one window. `x` points to its first element inside the image.
template <class T, class Winner>
void window_maximum(
    const PoolGeometry& g, const T* x, IndexRange rows, IndexRange columns, T* y, Winner* winner) {
  for (std::int64_t c = 0; c < g.c; c += kLanes) {
    const std::int64_t lanes = std::min(kLanes, g.c - c);
    float best[kLanes];
    std::int32_t place[kLanes];
    bool first = true;
    for (std::int64_t r = rows.begin; r < rows.end; ++r)
      for (std::int64_t s = columns.begin; s < columns.end; ++s) {
        const T* value = x + ((r - rows.begin) * g.w + (s - columns.begin)) * g.c + c;
        const auto offset = static_cast<std::int32_t>(r * g.options.window_w + s);
        if (first)
          for (std::int64_t j = 0; j < lanes; ++j) {
            best[j] = as_float(value[j]);
            place[j] = offset;
          }
        else
          for (std::int64_t j = 0; j < lanes; ++j) {
            float best_so_far = best[j];  // in registers: g++ vectorizes no conditional store
            std::int32_t its_place = place[j];
            offer(as_float(value[j]), offset, best_so_far, its_place);
            best[j] = best_so_far;
            place[j] = its_place;
          }
        first = false;
      }
    LEARN_VECTORIZE
    for (std::int64_t j = 0; j < lanes; ++j) {
      y[c + j] = from_float<T>(best[j]);
      winner[c + j] = static_cast<Winner>(place[j]);
    }
  }
}

/// Finds the maximum of a whole window of 2x2, the usual size, with everything in registers.
template <class T>
void window_maximum_2x2(
    const T* upper, const T* lower, std::int64_t channels, T* y, std::uint8_t* winner) {
  LEARN_VECTORIZE
  for (std::int64_t j = 0; j < channels; ++j) {
    float best = as_float(upper[j]);
    // All values are loaded before the first comparison; see `won`.
    const float value1 = as_float(upper[channels + j]);
    const float value2 = as_float(lower[j]);
    const float value3 = as_float(lower[channels + j]);
    std::int32_t place = 0;
    offer(value1, 1, best, place);
    offer(value2, 2, best, place);
    offer(value3, 3, best, place);
    y[j] = from_float<T>(best);
    winner[j] = static_cast<std::uint8_t>(place);
  }
}

template <class T, class Winner>
void output_row(const PoolGeometry& g, std::int64_t np, const T* x, T* y, Winner* winner) {
  const std::int64_t p = np % g.p;
  const IndexRange rows = g.rows_of(p);
  const std::int64_t top = np / g.p * g.h + p * g.options.stride_h - g.options.pad_h + rows.begin;
  const bool square = g.options.window_h == 2 && g.options.window_w == 2;
  for (std::int64_t q = 0; q < g.q; ++q) {
    const IndexRange columns = g.columns_of(q);
    const std::int64_t left = q * g.options.stride_w - g.options.pad_w + columns.begin;
    const T* corner = x + (top * g.w + left) * g.c;
    const std::int64_t out = (np * g.q + q) * g.c;
    if constexpr (sizeof(Winner) == 1)  // wide windows have wider winners
      if (square && rows.size() == 2 && columns.size() == 2) {
        window_maximum_2x2(corner, corner + g.w * g.c, g.c, y + out, winner + out);
        continue;
      }
    window_maximum(g, corner, rows, columns, y + out, winner + out);
  }
}

/// The windows that contain one pixel of x, and the position of the pixel including padding.
struct Holders {
  IndexRange rows, columns{};
  std::int64_t row, column = 0;
};

/// Returns the gradient for a winner, otherwise 0. The gradient is always loaded first, because g++
/// does not vectorize conditional loads unless the instruction set masks elements of that size.
inline float won(float gradient, bool winner) { return winner ? gradient : 0.0F; }

/// Computes dx of one pixel in a single window, which is the usual case of windows without overlap.
template <class T, class Winner>
void collect_one(
    const Winner* winner, const T* dy, Winner offset, std::int64_t channels, T* dx, GradMode mode) {
  if (mode == GradMode::overwrite) {
    LEARN_VECTORIZE
    for (std::int64_t j = 0; j < channels; ++j)
      dx[j] = from_float<T>(won(as_float(dy[j]), winner[j] == offset));
  } else {
    LEARN_VECTORIZE
    for (std::int64_t j = 0; j < channels; ++j)
      dx[j] = from_float<T>(as_float(dx[j]) + won(as_float(dy[j]), winner[j] == offset));
  }
}

/// Computes dx of one pixel in any number of windows. `winner` and `dy` point to its sample.
template <class T, class Winner>
void collect(const PoolGeometry& g,
             const Holders& holders,
             const Winner* winner,
             const T* dy,
             T* dx,
             GradMode mode) {
  for (std::int64_t c = 0; c < g.c; c += kLanes) {
    const std::int64_t lanes = std::min(kLanes, g.c - c);
    float sum[kLanes];
    for (std::int64_t j = 0; j < lanes; ++j)
      sum[j] = mode == GradMode::accumulate ? as_float(dx[c + j]) : 0.0F;
    for (std::int64_t p = holders.rows.begin; p < holders.rows.end; ++p)
      for (std::int64_t q = holders.columns.begin; q < holders.columns.end; ++q) {
        const std::int64_t r = holders.row - p * g.options.stride_h;
        const std::int64_t s = holders.column - q * g.options.stride_w;
        const auto offset = static_cast<Winner>(r * g.options.window_w + s);
        const std::int64_t window = (p * g.q + q) * g.c + c;
        for (std::int64_t j = 0; j < lanes; ++j)
          sum[j] += won(as_float(dy[window + j]), winner[window + j] == offset);
      }
    for (std::int64_t j = 0; j < lanes; ++j) dx[c + j] = from_float<T>(sum[j]);
  }
}

/// Computes the gradient of row `nh` of x. Each element collects from the windows that it won.
template <class T, class Winner>
void input_row(const PoolGeometry& g,
               std::int64_t nh,
               const Winner* winner,
               const T* dy,
               T* dx,
               GradMode mode) {
  const std::int64_t h = nh % g.h;
  const std::int64_t sample = nh / g.h * g.p * g.q * g.c;
  Holders holders{.rows = g.windows_over_row(h), .row = h + g.options.pad_h};
  for (std::int64_t w = 0; w < g.w; ++w) {
    holders.columns = g.windows_over_column(w);
    holders.column = w + g.options.pad_w;
    T* out = dx + (nh * g.w + w) * g.c;
    if (holders.rows.size() == 1 && holders.columns.size() == 1) {
      const std::int64_t p = holders.rows.begin;
      const std::int64_t q = holders.columns.begin;
      const std::int64_t r = holders.row - p * g.options.stride_h;
      const std::int64_t s = holders.column - q * g.options.stride_w;
      const std::int64_t window = sample + (p * g.q + q) * g.c;
      const auto offset = static_cast<Winner>(r * g.options.window_w + s);
      collect_one(winner + window, dy + window, offset, g.c, out, mode);
    } else {
      collect(g, holders, winner + sample, dy + sample, out, mode);
    }
  }
}

}  // namespace

template <class T, class Winner>
void max_pool2d_forward(
    const Exec& exec, const kernels::PoolSizes& sizes, const T* x, T* y, Winner* winner) {
  const PoolGeometry geometry{sizes};
  const std::int64_t rows = geometry.n * geometry.p;
  const std::int64_t per_row =
      std::max<std::int64_t>(1, geometry.w * geometry.c * geometry.options.stride_h);
  simd::parallel_for(
      exec.threads, rows, ceil_div(kGrain, per_row), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t np = begin; np < end; ++np) output_row(geometry, np, x, y, winner);
      });
}

template <class T, class Winner>
void max_pool2d_backward(const Exec& exec,
                         const kernels::PoolSizes& sizes,
                         const Winner* winner,
                         const T* dy,
                         T* dx,
                         GradMode mode) {
  const PoolGeometry geometry{sizes};
  const std::int64_t rows = geometry.n * geometry.h;
  const std::int64_t per_row = std::max<std::int64_t>(1, geometry.w * geometry.c);
  simd::parallel_for(
      exec.threads, rows, ceil_div(kGrain, per_row), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t nh = begin; nh < end; ++nh) input_row(geometry, nh, winner, dy, dx, mode);
      });
}

#define LEARN_POOL(T, Winner)                                                                      \
  template void max_pool2d_forward(const Exec&, const kernels::PoolSizes&, const T*, T*, Winner*); \
  template void max_pool2d_backward(                                                               \
      const Exec&, const kernels::PoolSizes&, const Winner*, const T*, T*, GradMode);
#define LEARN_INSTANTIATE(T)  \
  LEARN_POOL(T, std::uint8_t) \
  LEARN_POOL(T, std::int32_t)
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE
#undef LEARN_POOL

}  // namespace learn::cpu
