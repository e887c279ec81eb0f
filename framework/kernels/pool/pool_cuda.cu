// Max and average pooling, with channels in packs of 16 bytes and indices in 32 bits.
//
// Forward: a thread per pack of y reads its window. Backward gathers: a thread per pack of dx reads
// all windows that contain it, so that no additions are atomic and the order is fixed. Where 2x2
// windows tile the image, a thread per window writes its four elements and reads dy and winner
// once. Traffic: x, y and the winners once. Repeated reads for overlapping windows come from the
// cache.
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/tiling.cuh"
#include "framework/kernels/pool/pool.cuh"
#include "framework/kernels/pool/pool_kernels.h"

namespace learn::cuda {

using kernels::PoolSizes;

namespace {

using device::Pack;
using device::PoolPlan;
using device::PoolThread;

template <int count, class T, class Winner>
__global__ void max_forward_kernel(PoolPlan plan, const T* x, T* y, Winner* winner) {
  const PoolThread me(plan, plan.rows.outputs, plan.columns.outputs);
  if (!me.inside) return;
  float best[count] = {};
  int place[count] = {};
  bool first = true;
  for (int r = plan.rows.first_in(me.row); r < plan.rows.last_in(me.row); ++r)
    for (int s = plan.columns.first_in(me.column); s < plan.columns.last_in(me.column); ++s) {
      const auto pack =
          device::load_pack<count>(x, me.at(plan, plan.rows.extent, plan.columns.extent, r, s));
      const int offset =
          plan.rows.offset(r, me.row) * plan.columns.window + plan.columns.offset(s, me.column);
#pragma unroll
      for (int k = 0; k < count; ++k) {
        const float value = device::load(pack.v[k]);
        // NaN is larger than all numbers, and the first of several NaNs stays.
        if (first || (!isnan(best[k]) && !(value <= best[k]))) {
          best[k] = value;
          place[k] = offset;
        }
      }
      first = false;
    }
  Pack<T, count> out;
  Pack<Winner, count> code;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    out.v[k] = device::store<T>(best[k]);
    code.v[k] = static_cast<Winner>(place[k]);
  }
  const std::int64_t at = me.at(plan, plan.rows.outputs, plan.columns.outputs, me.row, me.column);
  device::store_pack(y, at, out);
  device::store_pack(winner, at, code);
}

template <int count, class T>
__global__ void avg_forward_kernel(PoolPlan plan, const T* x, T* y) {
  const PoolThread me(plan, plan.rows.outputs, plan.columns.outputs);
  if (!me.inside) return;
  float sum[count] = {};
  for (int r = plan.rows.first_in(me.row); r < plan.rows.last_in(me.row); ++r)
#pragma unroll 4
    for (int s = plan.columns.first_in(me.column); s < plan.columns.last_in(me.column); ++s) {
      const auto pack =
          device::load_pack<count>(x, me.at(plan, plan.rows.extent, plan.columns.extent, r, s));
#pragma unroll
      for (int k = 0; k < count; ++k) sum[k] += device::load(pack.v[k]);
    }
  const float share = plan.share(me.row, me.column);
  Pack<T, count> out;
#pragma unroll
  for (int k = 0; k < count; ++k) out.v[k] = device::store<T>(sum[k] * share);
  device::store_pack(
      y, me.at(plan, plan.rows.outputs, plan.columns.outputs, me.row, me.column), out);
}

/// Computes dx of one element from all windows that contain it. `gather(p, q, at, sum)` adds window
/// (p, q), whose pack in y has the number `at`.
template <int count, class T, class Gather>
__device__ void collect(
    const PoolPlan& plan, const PoolThread& me, T* dx, GradMode mode, Gather gather) {
  float sum[count] = {};
  for (int p = plan.rows.first_over(me.row); p < plan.rows.last_over(me.row); ++p)
    for (int q = plan.columns.first_over(me.column); q < plan.columns.last_over(me.column); ++q)
      gather(p, q, me.at(plan, plan.rows.outputs, plan.columns.outputs, p, q), sum);
  const std::int64_t at = me.at(plan, plan.rows.extent, plan.columns.extent, me.row, me.column);
  Pack<T, count> out;
  if (mode == GradMode::accumulate) {
    out = device::load_pack<count>(dx, at);
#pragma unroll
    for (int k = 0; k < count; ++k) sum[k] += device::load(out.v[k]);
  }
#pragma unroll
  for (int k = 0; k < count; ++k) out.v[k] = device::store<T>(sum[k]);
  device::store_pack(dx, at, out);
}

template <int count, class T, class Winner>
__global__ void max_backward_kernel(
    PoolPlan plan, const Winner* winner, const T* dy, T* dx, GradMode mode) {
  const PoolThread me(plan, plan.rows.extent, plan.columns.extent);
  if (!me.inside) return;
  collect<count>(plan, me, dx, mode, [&](int p, int q, std::int64_t at, float(&sum)[count]) {
    const auto code = device::load_pack<count>(winner, at);
    const auto pack = device::load_pack<count>(dy, at);
    const int offset =
        plan.rows.offset(me.row, p) * plan.columns.window + plan.columns.offset(me.column, q);
#pragma unroll
    for (int k = 0; k < count; ++k)
      sum[k] += static_cast<int>(code.v[k]) == offset ? device::load(pack.v[k]) : 0.0F;
  });
}

/// Computes dx for adjacent windows of 2 x 2, which contain every element once. A thread per window
/// reads its gradient and winner once and writes its four elements.
template <int count, class T, class Winner>
__global__ void max_backward_2x2_kernel(
    PoolPlan plan, const Winner* winner, const T* dy, T* dx, GradMode mode) {
  const PoolThread me(plan, plan.rows.outputs, plan.columns.outputs);
  if (!me.inside) return;
  const std::int64_t from = me.at(plan, plan.rows.outputs, plan.columns.outputs, me.row, me.column);
  const auto code = device::load_pack<count>(winner, from);
  const auto pack = device::load_pack<count>(dy, from);
#pragma unroll
  for (int place = 0; place < 4; ++place) {
    const std::int64_t at = me.at(plan,
                                  plan.rows.extent,
                                  plan.columns.extent,
                                  2 * me.row + place / 2,
                                  2 * me.column + place % 2);
    Pack<T, count> out;
    if (mode == GradMode::accumulate) out = device::load_pack<count>(dx, at);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      float value = static_cast<int>(code.v[k]) == place ? device::load(pack.v[k]) : 0.0F;
      if (mode == GradMode::accumulate) value += device::load(out.v[k]);
      out.v[k] = device::store<T>(value);
    }
    device::store_pack(dx, at, out);
  }
}

/// Returns whether the windows are adjacent, of 2 x 2, and cover the whole image.
bool is_2x2_tiling(const PoolSizes& s) {
  const Pool2dOptions& o = s.options;
  return o.window_h == 2 && o.window_w == 2 && o.stride_h == 2 && o.stride_w == 2 && o.pad_h == 0 &&
         o.pad_w == 0 && s.h == 2 * s.p && s.w == 2 * s.q;
}

template <int count, class T>
__global__ void avg_backward_kernel(PoolPlan plan, const T* dy, T* dx, GradMode mode) {
  const PoolThread me(plan, plan.rows.extent, plan.columns.extent);
  if (!me.inside) return;
  collect<count>(plan, me, dx, mode, [&](int p, int q, std::int64_t at, float(&sum)[count]) {
    const auto pack = device::load_pack<count>(dy, at);
    const float share = plan.share(p, q);
#pragma unroll
    for (int k = 0; k < count; ++k) sum[k] += device::load(pack.v[k]) * share;
  });
}

struct Launch {
  PoolPlan plan;
  Grid grid;
};

/// Returns a launch with one block per row of the tensor that is written, or several for long rows.
Launch plan_for(const PoolSizes& s, int count, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kThreads = 256;
  const std::int64_t packs = s.c / count;
  const std::int64_t per_row = columns * packs;
  const Pool2dOptions& o = s.options;
  for (const std::int64_t amount :
       {s.n, s.h, s.w, s.p, s.q, per_row, o.window_h * o.window_w, o.stride_h, o.stride_w})
    if (amount > 0x7FFFFFFF) too_large("pool", amount, "elements of an axis or window");
  const std::int64_t threads = std::min(kThreads, ceil_div(per_row, 32) * 32);
  const auto axis = [](std::int64_t extent,
                       std::int64_t outputs,
                       std::int64_t window,
                       std::int64_t stride,
                       std::int64_t pad) {
    return device::PoolAxis{static_cast<int>(extent),
                            static_cast<int>(outputs),
                            static_cast<int>(window),
                            static_cast<int>(stride),
                            static_cast<int>(pad)};
  };
  const std::int64_t blocks_per_row = per_row == 0 ? 0 : ceil_div(per_row, threads);
  return {.plan = {.rows = axis(s.h, s.p, o.window_h, o.stride_h, o.pad_h),
                   .columns = axis(s.w, s.q, o.window_w, o.stride_w, o.pad_w),
                   .packs = static_cast<int>(packs),
                   .blocks_per_row = static_cast<int>(blocks_per_row),
                   .count_padding = o.count_padding},
          .grid = {s.n * rows * blocks_per_row, static_cast<int>(threads)}};
}

}  // namespace

template <class T, class Winner>
void max_pool2d_forward(
    const Exec& exec, const PoolSizes& sizes, const T* x, T* y, Winner* winner) {
  with_pack<device::kPack<T>>(
      {sizes.c},
      [&]<int count>() {
        const Launch l = plan_for(sizes, count, sizes.p, sizes.q);
        const auto kernel = max_forward_kernel<count, T, Winner>;
        launch("max_pool_forward", kernel, l.grid, exec, l.plan, x, y, winner);
      },
      x,
      y,
      winner);
}

template <class T, class Winner>
void max_pool2d_backward(const Exec& exec,
                         const PoolSizes& sizes,
                         const Winner* winner,
                         const T* dy,
                         T* dx,
                         GradMode mode) {
  with_pack<device::kPack<T>>(
      {sizes.c},
      [&]<int count>() {
        // A thread per element, or per window if each window covers four elements that no other
        // covers.
        auto kernel = max_backward_kernel<count, T, Winner>;
        Launch l = plan_for(sizes, count, sizes.h, sizes.w);
        if constexpr (sizeof(Winner) == 1)  // windows of more than 256 elements are not 2 x 2
          if (is_2x2_tiling(sizes)) {
            kernel = max_backward_2x2_kernel<count, T, Winner>;
            l = plan_for(sizes, count, sizes.p, sizes.q);
          }
        launch("max_pool_backward", kernel, l.grid, exec, l.plan, winner, dy, dx, mode);
      },
      winner,
      dy,
      dx);
}

template <class T>
void avg_pool2d_forward(const Exec& exec, const PoolSizes& sizes, const T* x, T* y) {
  with_pack<device::kPack<T>>(
      {sizes.c},
      [&]<int count>() {
        const Launch l = plan_for(sizes, count, sizes.p, sizes.q);
        launch("avg_pool_forward", avg_forward_kernel<count, T>, l.grid, exec, l.plan, x, y);
      },
      x,
      y);
}

template <class T>
void avg_pool2d_backward(
    const Exec& exec, const PoolSizes& sizes, const T* dy, T* dx, GradMode mode) {
  with_pack<device::kPack<T>>(
      {sizes.c},
      [&]<int count>() {
        const Launch l = plan_for(sizes, count, sizes.h, sizes.w);
        const auto kernel = avg_backward_kernel<count, T>;
        launch("avg_pool_backward", kernel, l.grid, exec, l.plan, dy, dx, mode);
      },
      dy,
      dx);
}

#define LEARN_POOL(T, Winner)                                                             \
  template void max_pool2d_forward(const Exec&, const PoolSizes&, const T*, T*, Winner*); \
  template void max_pool2d_backward(                                                      \
      const Exec&, const PoolSizes&, const Winner*, const T*, T*, GradMode);
#define LEARN_INSTANTIATE(T)                                                     \
  LEARN_POOL(T, std::uint8_t)                                                    \
  LEARN_POOL(T, std::int32_t)                                                    \
  template void avg_pool2d_forward(const Exec&, const PoolSizes&, const T*, T*); \
  template void avg_pool2d_backward(const Exec&, const PoolSizes&, const T*, T*, GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE
#undef LEARN_POOL

}  // namespace learn::cuda
