// y = x + bias, and db = the sum over rows of dy: first blocks of rows, then a warp per channel.
// Reads dy once.
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/bias.h"
#include "framework/kernels/common/cuda/device/elementwise.cuh"
#include "framework/kernels/common/cuda/device/warp.cuh"
#include "framework/kernels/common/cuda/tiling.cuh"

namespace learn::cuda {
namespace {

using device::Columns;
using device::ColumnThread;
using device::kColumnThreads;

template <int count, class T>
__global__ void add_bias_kernel(Columns c, const T* x, const T* bias, T* y) {
  const ColumnThread me(c);
  if (!me.inside) return;
  const auto b = device::load_pack<count>(bias, me.pack);
  for (std::int64_t row = me.begin; row < me.end; row += me.step) {
    auto pack = device::load_pack<count>(x, row * c.packs + me.pack);
#pragma unroll
    for (int k = 0; k < count; ++k)
      pack.v[k] = device::store<T>(device::load(pack.v[k]) + device::load(b.v[k]));
    device::store_pack(y, row * c.packs + me.pack, pack);
  }
}

/// Computes partial (channels, row blocks): one sum per channel and block of rows.
template <int count, class T>
__global__ void column_sums_kernel(Columns c, const T* x, float* partial) {
  __shared__ float scratch[count * kColumnThreads];
  const ColumnThread me(c);
  float sum[count] = {};
#pragma unroll 4
  for (std::int64_t row = me.begin; row < me.end; row += me.step) {
    const auto pack = device::load_pack<count>(x, row * c.packs + me.pack);
#pragma unroll
    for (int k = 0; k < count; ++k) sum[k] += device::load(pack.v[k]);
  }
  device::add_down<count>(c, sum, scratch);
  if (!me.leads(c)) return;
#pragma unroll
  for (int k = 0; k < count; ++k)
    partial[(me.pack * count + k) * c.row_blocks + me.row_block] = sum[k];
}

constexpr int kJoinThreads = 128;

/// Adds up a row of `partial` with a warp per channel.
template <bool accumulate, class T>
__global__ void reduce_partials_kernel(std::int64_t channels,
                                       std::int64_t parts,
                                       const float* partial,
                                       T* out) {
  const std::int64_t channel = device::thread_index() / 32;
  if (channel >= channels) return;  // whole warps only
  float sum = 0;
  for (std::int64_t i = device::lane_index(); i < parts; i += 32)
    sum += partial[channel * parts + i];
  sum = device::warp_sum(sum);
  if (device::lane_index() != 0) return;
  if constexpr (accumulate) sum += device::load(out[channel]);
  out[channel] = device::store<T>(sum);
}

}  // namespace

template <class T>
void add_bias(
    Stream stream, const T* x, const T* bias, T* y, std::int64_t rows, std::int64_t channels) {
  if (rows == 0 || channels == 0) return;
  with_pack<device::kPack<T>>(
      {channels},
      [&]<int count>() {
        const Columns c = tiling_for_writing(rows, channels, count);
        launch("add_bias", add_bias_kernel<count, T>, grid_of(c), stream, c, x, bias, y);
      },
      x,
      bias,
      y);
}

template <class T>
void bias_backward(
    const Exec& exec, const T* dy, std::int64_t rows, std::int64_t channels, T* db, GradMode mode) {
  if (channels == 0) return;
  const FloatWorkspace workspace(exec, channels * max_partials(rows, channels));
  std::int64_t parts = 0;
  with_pack<device::kPack<T>>(
      {channels},
      [&]<int count>() {
        const Columns c = tiling_for_sums(rows, channels, count);
        parts = c.row_blocks;
        const auto kernel = column_sums_kernel<count, T>;
        launch("column_sums", kernel, grid_of(c), exec, c, dy, workspace.data());
      },
      dy);
  const auto join = mode == GradMode::accumulate ? reduce_partials_kernel<true, T>
                                                 : reduce_partials_kernel<false, T>;
  const Grid grid = warp_each(channels, kJoinThreads);
  launch("reduce_partials", join, grid, exec, channels, parts, workspace.data(), db);
}

#define LEARN_INSTANTIATE(T)                                                          \
  template void add_bias(Stream, const T*, const T*, T*, std::int64_t, std::int64_t); \
  template void bias_backward(const Exec&, const T*, std::int64_t, std::int64_t, T*, GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
