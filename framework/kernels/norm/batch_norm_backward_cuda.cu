// Backward pass of batch normalization over (rows, channels), with the gradients of its activation
// and residual.
//
//   g = dy * act'(bn(x) [+ residual]),  xhat = (x - mean) * rstd
//   dbias = sum g,  dweight = sum g * xhat
//   dx = weight * rstd * (g - mean(g) - xhat * mean(g * xhat)), the means only in training
//
// 1. gradient_sums_kernel: sums of g and g * (x - mean) by blocks of rows; reads x, dy, residual
// 2. finish_gradient_kernel: a warp per channel joins them; dweight, dbias, coefficients of dx
// 3. write_gradients_kernel: dx and dresidual; reads the same operands again
//
// A batch that is split between ranks divides 2. in two:
// 2. finish_sums_kernel: a warp per channel joins the blocks of this rank
// 3. join_sums_kernel: a thread per channel joins the ranks; dweight, dbias, coefficients of dx
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/activation_functions.cuh"
#include "framework/kernels/common/cuda/device/elementwise.cuh"
#include "framework/kernels/common/cuda/device/warp.cuh"
#include "framework/kernels/common/cuda/tiling.cuh"
#include "framework/kernels/norm/batch_norm_channels.cuh"
#include "framework/kernels/norm/batch_norm_kernels.h"
#include "framework/kernels/norm/join_row_blocks.cuh"

namespace learn::cuda {

using kernels::BatchNormBackwardArgs;
using kernels::BatchNormRankSumsArgs;

namespace {

using device::Columns;
using device::ColumnThread;
using device::kColumnThreads;

/// Computes the gradient of bn(x) in one row: g[k] = dy * act'(bn(x) [+ residual]), and
/// x_centered[k] = x - mean.
template <int count, bool residual_first, class T, class Act>
__device__ void row_gradient(const BatchNormBackwardArgs<T>& args,
                             const BatchNormChannels<count>& channel,
                             std::int64_t at,
                             Act act,
                             float (&g)[count],
                             float (&x_centered)[count]) {
  const auto x = device::load_pack<count>(args.x, at);
  const auto dy = device::load_pack<count>(args.dy, at);
  device::Pack<T, count> residual;
  if constexpr (residual_first) residual = device::load_pack<count>(args.residual, at);
#pragma unroll
  for (int k = 0; k < count; ++k) {
    x_centered[k] = device::load(x.v[k]) - channel.mean[k];
    float inner = x_centered[k] * channel.scale[k] + channel.bias[k];
    if constexpr (residual_first) inner += device::load(residual.v[k]);
    g[k] = device::load(dy.v[k]) * act.slope(inner);
  }
}

/// Computes partial (2, channels, row blocks): the sums of g, then of g * (x - mean), of each block
/// of rows.
template <int count, bool residual_first, class T, class Act>
__global__ void gradient_sums_kernel(Columns c,
                                     BatchNormBackwardArgs<T> args,
                                     Act act,
                                     float* partial) {
  __shared__ float scratch[2 * count * kColumnThreads];
  const ColumnThread thread(c);
  float sum[2 * count] = {};
  if (thread.inside) {
    const BatchNormChannels<count> channel(
        thread.pack, args.mean, args.rstd, args.weight, args.bias);
#pragma unroll 2
    for (std::int64_t row = thread.begin; row < thread.end; row += thread.step) {
      float g[count];
      float x_centered[count];
      row_gradient<count, residual_first>(
          args, channel, row * c.packs + thread.pack, act, g, x_centered);
#pragma unroll
      for (int k = 0; k < count; ++k) {
        sum[k] += g[k];
        sum[count + k] += g[k] * x_centered[k];
      }
    }
  }
  device::add_down<2 * count>(c, sum, scratch);
  if (!thread.leads(c)) return;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    const std::int64_t channel = thread.pack * count + k;
    partial[channel * c.row_blocks + thread.row_block] = sum[k];
    partial[(args.channels + channel) * c.row_blocks + thread.row_block] = sum[count + k];
  }
}

constexpr int kJoinThreads = 128;

/// Adds up the blocks of rows with a warp per channel. Writes the parameters' gradients and the
/// coefficients (2, channels) of dx = scale * (g - mean_g - (x - mean) * xhat_factor).
template <class T>
__global__ void finish_gradient_kernel(std::int64_t parts,
                                       BatchNormBackwardArgs<T> args,
                                       const float* partial,
                                       float* coefficients) {
  const std::int64_t channel = device::thread_index() / 32;
  if (channel >= args.channels) return;  // whole warps only
  const auto [sum, sum_g_centered] = join_row_blocks(parts, args.channels, channel, partial);
  if (device::lane_index() != 0) return;
  const float rstd = args.rstd[channel];
  const float sum_g_xhat = sum_g_centered * rstd;
  if (args.dweight != nullptr)
    args.dweight[channel] =
        sum_g_xhat + (args.dweight_mode == GradMode::accumulate ? args.dweight[channel] : 0.0F);
  if (args.dbias != nullptr)
    args.dbias[channel] =
        sum + (args.dbias_mode == GradMode::accumulate ? args.dbias[channel] : 0.0F);
  const auto rows = static_cast<float>(args.rows);
  coefficients[channel] = sum / rows;
  coefficients[args.channels + channel] = rstd * sum_g_xhat / rows;
}

/// Adds up the blocks of rows with a warp per channel and writes the sums (2, channels) of g and of
/// g * xhat of this rank.
__global__ void finish_sums_kernel(std::int64_t parts,
                                   std::int64_t channels,
                                   const float* rstd,
                                   const float* partial,
                                   float* sums) {
  const std::int64_t channel = device::thread_index() / 32;
  if (channel >= channels) return;  // whole warps only
  const auto [sum, sum_g_centered] = join_row_blocks(parts, channels, channel, partial);
  if (device::lane_index() != 0) return;
  sums[channel] = sum;
  sums[channels + channel] = sum_g_centered * rstd[channel];
}

/// Results of `join_sums_kernel`; a null pointer marks a gradient that is not requested.
struct JoinedSums {
  float *dweight, *dbias, *coefficients;
  GradMode dweight_mode, dbias_mode;
};

/// Adds up the sums of the ranks, in their order, with a thread per channel. Writes the parameters'
/// gradients of this rank, and the coefficients of dx from the sums and rows of all ranks.
__global__ void join_sums_kernel(std::int64_t channels,
                                 const float* rstd,
                                 BatchNormRankSumsArgs<float> in,
                                 JoinedSums out) {
  const std::int64_t c = device::thread_index();
  if (c >= channels) return;
  float sum = 0;
  float sum_g_xhat = 0;
  for (std::int64_t r = 0; r < in.ranks; ++r) {
    sum += in.all[2 * r * channels + c];
    sum_g_xhat += in.all[(2 * r + 1) * channels + c];
  }
  const auto put = [c](float* to, GradMode mode, float own) {
    if (to != nullptr) to[c] = own + (mode == GradMode::accumulate ? to[c] : 0.0F);
  };
  put(out.dweight, out.dweight_mode, in.own[channels + c]);
  put(out.dbias, out.dbias_mode, in.own[c]);
  const float rows = *in.rows;
  out.coefficients[c] = sum / rows;
  out.coefficients[channels + c] = rstd[c] * sum_g_xhat / rows;
}

/// Writes dx, then dresidual. `coefficients` is null if the statistics do not depend on x.
template <int count, bool residual_first, class T, class Act>
__global__ void write_gradients_kernel(Columns c,
                                       BatchNormBackwardArgs<T> args,
                                       Act act,
                                       const float* coefficients) {
  const ColumnThread thread(c);
  if (!thread.inside) return;
  const BatchNormChannels<count> channel(thread.pack, args.mean, args.rstd, args.weight, args.bias);
  device::Pack<float, count> mean_g{};
  device::Pack<float, count> xhat_factor{};
  if (coefficients != nullptr) {
    mean_g = device::load_pack<count>(coefficients, thread.pack);
    xhat_factor = device::load_pack<count>(coefficients + args.channels, thread.pack);
  }
  for (std::int64_t row = thread.begin; row < thread.end; row += thread.step) {
    const std::int64_t at = row * c.packs + thread.pack;
    float g[count];
    float x_centered[count];
    row_gradient<count, residual_first>(args, channel, at, act, g, x_centered);
    const auto store_gradient = [&](T* out, GradMode mode, auto value) {
      device::Pack<T, count> pack{};
      if (mode == GradMode::accumulate) pack = device::load_pack<count>(out, at);
#pragma unroll
      for (int k = 0; k < count; ++k)
        pack.v[k] = device::store<T>(device::load(pack.v[k]) + value(k));
      device::store_pack(out, at, pack);
    };
    device::Pack<T, count> dy{};
    if (!residual_first && args.dresidual != nullptr) dy = device::load_pack<count>(args.dy, at);
    if (args.dx != nullptr)
      store_gradient(args.dx, args.dx_mode, [&](int k) {
        // 0 * x would be NaN for an infinite x.
        return channel.scale[k] * (coefficients == nullptr
                                       ? g[k]
                                       : g[k] - mean_g.v[k] - x_centered[k] * xhat_factor.v[k]);
      });
    if (args.dresidual != nullptr)
      store_gradient(args.dresidual, args.dresidual_mode, [&](int k) {
        return residual_first ? g[k] : device::load(dy.v[k]);
      });
  }
}

/// The sums of g and g * (x - mean) by blocks of rows; returns the number of blocks.
template <int count, bool residual_first, class T, class Act>
std::int64_t add_up(const Exec& exec,
                    const BatchNormBackwardArgs<T>& args,
                    float* partial,
                    Act act) {
  const Columns c = tiling_for_sums(args.rows, args.channels, count);
  const auto sums = gradient_sums_kernel<count, residual_first, T, Act>;
  launch("batch_norm_gradient_sums", sums, grid_of(c), exec, c, args, act, partial);
  return c.row_blocks;
}

/// Writes dx and dresidual.
template <int count, bool residual_first, class T, class Act>
void write(const Exec& exec,
           const BatchNormBackwardArgs<T>& args,
           const float* coefficients,
           Act act) {
  if (args.rows == 0 || (args.dx == nullptr && args.dresidual == nullptr)) return;
  const Columns c = tiling_for_writing(args.rows, args.channels, count);
  const auto kernel = write_gradients_kernel<count, residual_first, T, Act>;
  const float* const terms = args.batch_statistics ? coefficients : nullptr;
  launch("batch_norm_write_gradients", kernel, grid_of(c), exec, c, args, act, terms);
}

/// Scratch memory of a call: coefficients (2, channels) of dx, then the sums of blocks of rows.
struct Scratch {
  FloatWorkspace memory;
  float *coefficients, *partial;
  Scratch(const Exec& exec, std::int64_t rows, std::int64_t channels)
      : memory(exec, batch_norm_workspace(rows, channels)),
        coefficients(memory.data()),
        partial(memory.data() + 2 * channels) {}
};

/// Calls `f.operator()<count, residual_first>(act)` for the instance of the kernels that fits.
template <class T, class F>
void with_instance(const BatchNormBackwardArgs<T>& args, const Scratch& scratch, F f) {
  with_activation(args.activation, [&]<class Act>(Act act) {
    with_pack<device::kPack<T>>(
        {args.channels},
        [&]<int count>() {
          if (args.residual != nullptr && args.residual_before_activation)
            f.template operator()<count, true>(act);
          else
            f.template operator()<count, false>(act);
        },
        args.x,
        args.residual,
        args.dy,
        args.dx,
        args.dresidual,
        args.weight,
        args.bias,
        args.mean,
        args.rstd,
        scratch.coefficients);
  });
}

}  // namespace

template <class T>
void batch_norm_backward(const Exec& exec, const BatchNormBackwardArgs<T>& args) {
  const Scratch scratch(exec, args.rows, args.channels);
  with_instance(args, scratch, [&]<int count, bool residual_first>(auto act) {
    if (args.batch_statistics || args.dweight != nullptr || args.dbias != nullptr) {
      const std::int64_t parts = add_up<count, residual_first>(exec, args, scratch.partial, act);
      launch("batch_norm_finish_gradient",
             finish_gradient_kernel<T>,
             warp_each(args.channels, kJoinThreads),
             exec,
             parts,
             args,
             scratch.partial,
             scratch.coefficients);
    }
    write<count, residual_first>(exec, args, scratch.coefficients, act);
  });
}

template <class T>
void batch_norm_gradient_sums(const Exec& exec, const BatchNormBackwardArgs<T>& args, float* sums) {
  const Scratch scratch(exec, args.rows, args.channels);
  with_instance(args, scratch, [&]<int count, bool residual_first>(auto act) {
    const std::int64_t parts = add_up<count, residual_first>(exec, args, scratch.partial, act);
    launch("batch_norm_finish_sums",
           finish_sums_kernel,
           warp_each(args.channels, kJoinThreads),
           exec,
           parts,
           args.channels,
           args.rstd,
           scratch.partial,
           sums);
  });
}

template <class T>
void batch_norm_joined_backward(const Exec& exec,
                                const BatchNormBackwardArgs<T>& args,
                                const BatchNormRankSumsArgs<float>& sums) {
  const Scratch scratch(exec, args.rows, args.channels);
  launch("batch_norm_join_sums",
         join_sums_kernel,
         thread_each(args.channels, kJoinThreads),
         exec,
         args.channels,
         args.rstd,
         sums,
         JoinedSums{
             args.dweight, args.dbias, scratch.coefficients, args.dweight_mode, args.dbias_mode});
  with_instance(args, scratch, [&]<int count, bool residual_first>(auto act) {
    write<count, residual_first>(exec, args, scratch.coefficients, act);
  });
}

template void batch_norm_backward(const Exec&, const BatchNormBackwardArgs<float>&);
template void batch_norm_backward(const Exec&, const BatchNormBackwardArgs<Half>&);
template void batch_norm_backward(const Exec&, const BatchNormBackwardArgs<BFloat16>&);
template void batch_norm_gradient_sums(const Exec&, const BatchNormBackwardArgs<float>&, float*);
template void batch_norm_gradient_sums(const Exec&, const BatchNormBackwardArgs<Half>&, float*);
template void batch_norm_gradient_sums(const Exec&, const BatchNormBackwardArgs<BFloat16>&, float*);
template void batch_norm_joined_backward(const Exec&,
                                         const BatchNormBackwardArgs<float>&,
                                         const BatchNormRankSumsArgs<float>&);
template void batch_norm_joined_backward(const Exec&,
                                         const BatchNormBackwardArgs<Half>&,
                                         const BatchNormRankSumsArgs<float>&);
template void batch_norm_joined_backward(const Exec&,
                                         const BatchNormBackwardArgs<BFloat16>&,
                                         const BatchNormRankSumsArgs<float>&);

}  // namespace learn::cuda
