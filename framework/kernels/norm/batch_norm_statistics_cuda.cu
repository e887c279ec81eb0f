// Mean and 1 / deviation of each channel of (rows, channels), and the running statistics.
//
//   mean = sum x / rows,  rstd = 1 / sqrt(sum (x - mean)^2 / rows + eps)
//   joining a and b, d = mean_b - mean_a:  mean = mean_a + d * n_b / n,
//   squares = squares_a + squares_b + d^2 * n_a * n_b / n  (Chan, Golub and LeVeque, 1979)
//
// 1. moments_kernel: mean and squared deviations by blocks of rows; reads x once
// 2. finish_statistics_kernel: a warp per channel joins them and updates the running statistics
//
// A batch that is split between ranks divides 2. in two:
// 2. finish_moments_kernel: a warp per channel joins the blocks of this rank
// 3. join_moments_kernel: a thread per channel joins the ranks, updates the running statistics
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/device/elementwise.cuh"
#include "framework/kernels/common/cuda/device/warp.cuh"
#include "framework/kernels/common/cuda/tiling.cuh"
#include "framework/kernels/norm/batch_norm_channels.cuh"
#include "framework/kernels/norm/batch_norm_kernels.h"

namespace learn::cuda {

using kernels::BatchNormJoinArgs;
using kernels::BatchNormMomentsArgs;
using kernels::BatchNormStatisticsArgs;

namespace {

using device::Columns;
using device::ColumnThread;
using device::kColumnThreads;

/// Mean and sum of squared deviations of one channel over a number of rows.
struct Moments {
  float mean = 0;
  float squares = 0;

  /// Joins the moments of other rows. `share` is their share of all rows, and `spread` is share *
  /// the number of previous rows.
  __device__ void merge(const Moments& other, float share, float spread) {
    const float step = other.mean - mean;
    mean += step * share;
    squares += other.squares + step * step * spread;
  }
};

/// Returns more / (rows + more), or 0 if `more` is 0.
__device__ float share_of(float more, float rows) { return more > 0 ? more / (rows + more) : 0.0F; }

/// Computes the moments of this thread's channels over its rows and returns the number of rows.
/// Takes four rows at a time, so that four loads are in flight. Values are relative to the
/// channel's first one, so that a mean far larger than the deviation costs no digits.
template <int count, class T>
__device__ float thread_moments(const Columns& c,
                                const ColumnThread& me,
                                const T* x,
                                Moments (&total)[count]) {
  float rows = 0;
  std::int64_t row = me.begin;
  if (row >= me.end) return rows;
  float origin[count];
  const auto first = device::load_pack<count>(x, me.pack);
#pragma unroll
  for (int k = 0; k < count; ++k) origin[k] = device::load(first.v[k]);
  const auto load = [&](std::int64_t at) {
    return device::load_pack<count>(x, at * c.packs + me.pack);
  };
  for (; row + 3 * me.step < me.end; row += 4 * me.step) {
    const device::Pack<T, count> packs[4] = {
        load(row), load(row + me.step), load(row + 2 * me.step), load(row + 3 * me.step)};
    const float share = share_of(4, rows);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const float v[4] = {device::load(packs[0].v[k]) - origin[k],
                          device::load(packs[1].v[k]) - origin[k],
                          device::load(packs[2].v[k]) - origin[k],
                          device::load(packs[3].v[k]) - origin[k]};
      Moments four{((v[0] + v[1]) + (v[2] + v[3])) * 0.25F, 0};
#pragma unroll
      for (int i = 0; i < 4; ++i) four.squares += (v[i] - four.mean) * (v[i] - four.mean);
      total[k].merge(four, share, share * rows);
    }
    rows += 4;
  }
  for (; row < me.end; row += me.step) {
    const auto pack = load(row);
    const float share = share_of(1, rows);
#pragma unroll
    for (int k = 0; k < count; ++k)
      total[k].merge({device::load(pack.v[k]) - origin[k], 0}, share, share * rows);
    rows += 1;
  }
  return rows;
}

/// Computes partial (2, channels, row blocks): the means, then the squares, of each block of rows.
template <int count, class T>
__global__ void moments_kernel(Columns c, const T* x, float* partial) {
  __shared__ float means[count * kColumnThreads];
  __shared__ float squares[count * kColumnThreads];
  __shared__ float row_counts[kColumnThreads];
  const ColumnThread me(c);
  const int thread = static_cast<int>(threadIdx.x);
  Moments total[count];
  float rows = thread_moments<count>(c, me, x, total);

  const auto publish = [&] {
    row_counts[thread] = rows;
#pragma unroll
    for (int k = 0; k < count; ++k) {
      means[k * kColumnThreads + thread] = total[k].mean;
      squares[k * kColumnThreads + thread] = total[k].squares;
    }
  };
  publish();
  __syncthreads();
  for (int half = kColumnThreads / 2; half >= (1 << c.lanes_log2); half /= 2) {
    if (thread < half) {
      const float more = row_counts[thread + half];
      const float share = share_of(more, rows);
#pragma unroll
      for (int k = 0; k < count; ++k)
        total[k].merge({means[k * kColumnThreads + thread + half],
                        squares[k * kColumnThreads + thread + half]},
                       share,
                       share * rows);
      rows += more;
      publish();
    }
    __syncthreads();
  }
  if (!me.leads(c)) return;
  const std::int64_t channels = c.packs * count;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    const std::int64_t channel = me.pack * count + k;
    partial[channel * c.row_blocks + me.row_block] = total[k].mean;
    partial[(channels + channel) * c.row_blocks + me.row_block] = total[k].squares;
  }
}

constexpr int kJoinThreads = 128;

/// Joins the blocks of rows of one channel with a warp. The mean is relative to the channel's first
/// value.
__device__ Moments join_row_blocks(const Columns& c,
                                   std::int64_t channels,
                                   std::int64_t channel,
                                   float all_rows,
                                   const float* partial) {
  const float* means = partial + channel * c.row_blocks;
  const float* squares = partial + (channels + channel) * c.row_blocks;
  const auto longer = static_cast<float>(c.rows_per_block + 1);
  const auto shorter = static_cast<float>(c.rows_per_block);
  const auto rows_of = [&](std::int64_t i) { return i < c.longer_blocks ? longer : shorter; };
  // Two passes of sums, in which no step waits for the previous one. Merging blocks one by one
  // would wait, with a division in each step. The means are relative to the channel's first value,
  // so the first pass loses no digits to a large mean.
  float sum = 0;
#pragma unroll 8
  for (std::int64_t i = device::lane_index(); i < c.row_blocks; i += 32)
    sum += rows_of(i) * means[i];
  const float relative = device::warp_sum(sum) / all_rows;
  float deviations = 0;
#pragma unroll 8
  for (std::int64_t i = device::lane_index(); i < c.row_blocks; i += 32) {
    const float step = means[i] - relative;
    deviations += squares[i] + rows_of(i) * step * step;
  }
  deviations = device::warp_sum(deviations);
  return {relative, deviations};
}

/// Joins the blocks of rows with a warp per channel and updates the running statistics.
template <class T>
__global__ void finish_statistics_kernel(Columns c,
                                         std::int64_t channels,
                                         float all_rows,
                                         const T* x,
                                         const float* partial,
                                         float eps,
                                         float momentum,
                                         float* running_mean,
                                         float* running_var,
                                         float* mean,
                                         float* rstd) {
  const std::int64_t channel = device::thread_index() / 32;
  if (channel >= channels) return;  // whole warps only
  const auto [relative, deviations] = join_row_blocks(c, channels, channel, all_rows, partial);
  if (device::lane_index() != 0) return;
  const float channel_mean = relative + device::load(x[channel]);
  mean[channel] = channel_mean;
  rstd[channel] = 1.0F / sqrtf(deviations / all_rows + eps);
  const float keep = 1.0F - momentum;
  running_mean[channel] = keep * running_mean[channel] + momentum * channel_mean;
  running_var[channel] = keep * running_var[channel] + momentum * (deviations / (all_rows - 1.0F));
}

/// Joins the blocks of rows with a warp per channel and writes the moments of this rank.
template <class T>
__global__ void finish_moments_kernel(Columns c,
                                      std::int64_t channels,
                                      float all_rows,
                                      const T* x,
                                      const float* partial,
                                      float* moments) {
  const std::int64_t channel = device::thread_index() / 32;
  if (channel >= channels) return;  // whole warps only
  const auto [relative, deviations] = join_row_blocks(c, channels, channel, all_rows, partial);
  if (device::lane_index() != 0) return;
  moments[channel] = relative + device::load(x[channel]);
  moments[channels + channel] = deviations;
  if (channel == 0) moments[2 * channels] = all_rows;
}

/// Joins the moments of the ranks, in their order, with a thread per channel. The means are
/// relative to the first rank's with rows, so that a large mean costs no digits.
__global__ void join_moments_kernel(BatchNormJoinArgs<float> args) {
  const std::int64_t c = device::thread_index();
  if (c >= args.channels) return;
  Moments total;
  float origin = 0;
  float rows = 0;
  for (std::int64_t r = 0; r < args.ranks; ++r) {
    const float* rank = args.moments + r * (2 * args.channels + 1);
    const float more = rank[2 * args.channels];
    if (more == 0.0F) continue;
    if (rows == 0.0F) origin = rank[c];
    const float share = share_of(more, rows);
    total.merge({rank[c] - origin, rank[args.channels + c]}, share, share * rows);
    rows += more;
  }
  const float mean = origin + total.mean;
  args.mean[c] = mean;
  args.rstd[c] = 1.0F / sqrtf(total.squares / rows + args.eps);
  const float keep = 1.0F - args.momentum;
  args.running_mean[c] = keep * args.running_mean[c] + args.momentum * mean;
  args.running_var[c] =
      keep * args.running_var[c] + args.momentum * (total.squares / (rows - 1.0F));
  if (c == 0) *args.rows = rows;
}

__global__ void running_statistics_kernel(const float* running_mean,
                                          const float* running_var,
                                          float eps,
                                          float* mean,
                                          float* rstd,
                                          std::int64_t channels) {
  const std::int64_t c = device::thread_index();
  if (c >= channels) return;
  mean[c] = running_mean[c];
  rstd[c] = 1.0F / sqrtf(running_var[c] + eps);
}

/// Computes the moments of blocks of rows, and calls `join` with the partition.
template <class T, class Join>
void with_row_blocks(const Exec& exec,
                     std::int64_t rows,
                     std::int64_t channels,
                     const T* x,
                     float* partial,
                     Join join) {
  with_pack<device::kPack<T>>(
      {channels},
      [&]<int count>() {
        const Columns c = tiling_for_sums(rows, channels, count);
        const auto moments = moments_kernel<count, T>;
        launch("batch_norm_moments", moments, grid_of(c), exec, c, x, partial);
        join(c);
      },
      x);
}

}  // namespace

template <class T>
void batch_norm_statistics(const Exec& exec, const BatchNormStatisticsArgs<T>& args) {
  const FloatWorkspace workspace(exec, batch_norm_workspace(args.rows, args.channels));
  with_row_blocks(exec, args.rows, args.channels, args.x, workspace.data(), [&](const Columns& c) {
    launch("batch_norm_finish_statistics",
           finish_statistics_kernel<T>,
           warp_each(args.channels, kJoinThreads),
           exec,
           c,
           args.channels,
           static_cast<float>(args.rows),
           args.x,
           workspace.data(),
           args.eps,
           args.momentum,
           args.running_mean,
           args.running_var,
           args.mean,
           args.rstd);
  });
}

template <class T>
void batch_norm_moments(const Exec& exec, const BatchNormMomentsArgs<T>& args) {
  const FloatWorkspace workspace(exec, batch_norm_workspace(args.rows, args.channels));
  with_row_blocks(exec, args.rows, args.channels, args.x, workspace.data(), [&](const Columns& c) {
    launch("batch_norm_finish_moments",
           finish_moments_kernel<T>,
           warp_each(args.channels, kJoinThreads),
           exec,
           c,
           args.channels,
           static_cast<float>(args.rows),
           args.x,
           workspace.data(),
           args.moments);
  });
}

void batch_norm_join_moments(const Exec& exec, const BatchNormJoinArgs<float>& args) {
  launch("batch_norm_join_moments",
         join_moments_kernel,
         thread_each(args.channels, kJoinThreads),
         exec,
         args);
}

void batch_norm_running_statistics(const Exec& exec,
                                   const float* running_mean,
                                   const float* running_var,
                                   float eps,
                                   float* mean,
                                   float* rstd,
                                   std::int64_t channels) {
  launch("batch_norm_running_statistics",
         running_statistics_kernel,
         thread_each(channels, kJoinThreads),
         exec,
         running_mean,
         running_var,
         eps,
         mean,
         rstd,
         channels);
}

template void batch_norm_statistics(const Exec&, const BatchNormStatisticsArgs<float>&);
template void batch_norm_statistics(const Exec&, const BatchNormStatisticsArgs<Half>&);
template void batch_norm_statistics(const Exec&, const BatchNormStatisticsArgs<BFloat16>&);
template void batch_norm_moments(const Exec&, const BatchNormMomentsArgs<float>&);
template void batch_norm_moments(const Exec&, const BatchNormMomentsArgs<Half>&);
template void batch_norm_moments(const Exec&, const BatchNormMomentsArgs<BFloat16>&);

}  // namespace learn::cuda
