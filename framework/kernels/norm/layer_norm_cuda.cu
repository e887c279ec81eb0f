// y = (x - mean) * rstd * weight + bias, row by row: a warp per row reads its row three times, the
// last two from the cache. Backward: dx in the same way, and the gradients of weight and bias as
// sums of columns, first over blocks of rows.
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/device/elementwise.cuh"
#include "framework/kernels/common/cuda/device/warp.cuh"
#include "framework/kernels/common/cuda/tiling.cuh"
#include "framework/kernels/norm/join_row_blocks.cuh"
#include "framework/kernels/norm/layer_norm_kernels.h"

namespace learn::cuda {

using kernels::LayerNormArgs;
using kernels::LayerNormBackwardArgs;

namespace {

using device::Columns;
using device::ColumnThread;
using device::kColumnThreads;

constexpr int kRowThreads = 128;  // four rows

/// Returns to every lane the sum of term(element) over a row.
template <int count, class T, class Term>
__device__ float row_sum(const T* x, std::int64_t packs, Term term) {
  float sum = 0;
#pragma unroll 2
  for (std::int64_t i = device::lane_index(); i < packs; i += 32) {
    const auto pack = device::load_pack<count>(x, i);
#pragma unroll
    for (int k = 0; k < count; ++k) sum += term(device::load(pack.v[k]));
  }
  return device::warp_sum(sum);
}

template <int count, class T>
__global__ void layer_norm_kernel(LayerNormArgs<T> args) {
  const std::int64_t row = device::thread_index() / 32;
  if (row >= args.rows) return;  // whole warps only
  const std::int64_t packs = args.columns / count;
  const T* x = args.x + row * args.columns;
  T* y = args.y + row * args.columns;
  const auto columns = static_cast<float>(args.columns);
  const float mean =
      args.centered ? row_sum<count>(x, packs, [](float value) { return value; }) / columns : 0;
  const float squares =
      row_sum<count>(x, packs, [mean](float value) { return (value - mean) * (value - mean); });
  const float rstd = 1 / sqrtf(squares / columns + args.eps);
  for (std::int64_t i = device::lane_index(); i < packs; i += 32) {
    auto pack = device::load_pack<count>(x, i);
    const auto weight = device::load_pack<count>(args.weight, i);
    device::Pack<float, count> bias{};
    if (args.centered) bias = device::load_pack<count>(args.bias, i);
#pragma unroll
    for (int k = 0; k < count; ++k)
      pack.v[k] =
          device::store<T>((device::load(pack.v[k]) - mean) * rstd * weight.v[k] + bias.v[k]);
    device::store_pack(y, i, pack);
  }
  if (device::lane_index() != 0) return;
  args.mean[row] = mean;
  args.rstd[row] = rstd;
}

template <int count, class T>
__global__ void layer_norm_input_gradient_kernel(LayerNormBackwardArgs<T> args) {
  const std::int64_t row = device::thread_index() / 32;
  if (row >= args.rows) return;  // whole warps only
  const std::int64_t packs = args.columns / count;
  const T* x = args.x + row * args.columns;
  const T* dy = args.dy + row * args.columns;
  T* dx = args.dx + row * args.columns;
  const float mean = args.mean[row];
  const float rstd = args.rstd[row];
  float sum = 0;
  float sum_x = 0;
  for (std::int64_t i = device::lane_index(); i < packs; i += 32) {
    const auto value = device::load_pack<count>(x, i);
    const auto gradient = device::load_pack<count>(dy, i);
    const auto weight = device::load_pack<count>(args.weight, i);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const float g = device::load(gradient.v[k]) * weight.v[k];
      sum += g;
      sum_x += g * ((device::load(value.v[k]) - mean) * rstd);
    }
  }
  const float mean_g = args.centered ? device::warp_sum(sum) / static_cast<float>(args.columns) : 0;
  const float mean_g_xhat = device::warp_sum(sum_x) / static_cast<float>(args.columns);
  const bool add = args.dx_mode == GradMode::accumulate;
  for (std::int64_t i = device::lane_index(); i < packs; i += 32) {
    const auto value = device::load_pack<count>(x, i);
    const auto gradient = device::load_pack<count>(dy, i);
    const auto weight = device::load_pack<count>(args.weight, i);
    device::Pack<T, count> out{};
    if (add) out = device::load_pack<count>(dx, i);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const float g = device::load(gradient.v[k]) * weight.v[k];
      const float xhat = (device::load(value.v[k]) - mean) * rstd;
      out.v[k] =
          device::store<T>(device::load(out.v[k]) + rstd * (g - mean_g - xhat * mean_g_xhat));
    }
    device::store_pack(dx, i, out);
  }
}

/// Computes partial (2, channels, row blocks): sums of dy * xhat, then of dy.
template <int count, class T>
__global__ void layer_norm_weight_sums_kernel(Columns c,
                                              LayerNormBackwardArgs<T> args,
                                              float* partial) {
  __shared__ float scratch[2 * count * kColumnThreads];
  const ColumnThread me(c);
  float sum[2 * count] = {};
#pragma unroll 2
  for (std::int64_t row = me.begin; row < me.end; row += me.step) {
    const auto value = device::load_pack<count>(args.x, row * c.packs + me.pack);
    const auto gradient = device::load_pack<count>(args.dy, row * c.packs + me.pack);
    const float mean = args.mean[row];
    const float rstd = args.rstd[row];
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const float g = device::load(gradient.v[k]);
      sum[k] += g * ((device::load(value.v[k]) - mean) * rstd);
      sum[count + k] += g;
    }
  }
  device::add_down<2 * count>(c, sum, scratch);
  if (!me.leads(c)) return;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    const std::int64_t channel = me.pack * count + k;
    partial[channel * c.row_blocks + me.row_block] = sum[k];
    partial[(args.columns + channel) * c.row_blocks + me.row_block] = sum[count + k];
  }
}

/// Adds up a row of `partial` with a warp per channel.
template <class T>
__global__ void layer_norm_weight_gradient_kernel(std::int64_t parts,
                                                  LayerNormBackwardArgs<T> args,
                                                  const float* partial) {
  const std::int64_t channel = device::thread_index() / 32;
  if (channel >= args.columns) return;  // whole warps only
  const auto [dweight, dbias] = join_row_blocks(parts, args.columns, channel, partial);
  if (device::lane_index() != 0) return;
  if (args.dweight != nullptr)
    args.dweight[channel] =
        dweight + (args.dweight_mode == GradMode::accumulate ? args.dweight[channel] : 0.0F);
  if (args.dbias != nullptr)
    args.dbias[channel] =
        dbias + (args.dbias_mode == GradMode::accumulate ? args.dbias[channel] : 0.0F);
}

}  // namespace

template <class T>
void layer_norm_forward(const Exec& exec, const LayerNormArgs<T>& args) {
  with_pack<device::kPack<T>>(
      {args.columns},
      [&]<int count>() {
        const Grid grid = warp_each(args.rows, kRowThreads);
        launch("layer_norm", layer_norm_kernel<count, T>, grid, exec, args);
      },
      args.x,
      args.y,
      args.weight,
      args.bias);
}

template <class T>
void layer_norm_backward(const Exec& exec, const LayerNormBackwardArgs<T>& args) {
  const std::int64_t columns = args.columns;
  const FloatWorkspace workspace(exec, 2 * columns * max_partials(args.rows, columns));
  with_pack<device::kPack<T>>(
      {columns},
      [&]<int count>() {
        const auto of_input = layer_norm_input_gradient_kernel<count, T>;
        const Grid rows = warp_each(args.rows, kRowThreads);
        if (args.dx != nullptr) launch("layer_norm_input_gradient", of_input, rows, exec, args);
        if (args.dweight == nullptr && args.dbias == nullptr) return;
        const Columns c = tiling_for_sums(args.rows, columns, count);
        const auto sums = layer_norm_weight_sums_kernel<count, T>;
        launch("layer_norm_weight_sums", sums, grid_of(c), exec, c, args, workspace.data());
        const auto join = layer_norm_weight_gradient_kernel<T>;
        const Grid channels = warp_each(columns, kRowThreads);
        launch("layer_norm_weight_gradient",
               join,
               channels,
               exec,
               c.row_blocks,
               args,
               workspace.data());
      },
      args.x,
      args.dy,
      args.dx,
      args.weight);
}

#define LEARN_INSTANTIATE(T)                                              \
  template void layer_norm_forward(const Exec&, const LayerNormArgs<T>&); \
  template void layer_norm_backward(const Exec&, const LayerNormBackwardArgs<T>&);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
