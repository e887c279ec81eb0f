#include "framework/core/function_ref.h"
#include "framework/kernels/common/cpu/channel_folding.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/norm/batch_norm_kernels.h"
#include "framework/kernels/norm/batch_norm_lanes_cpu.h"

#include <algorithm>
#include <cmath>

namespace learn::cpu {

using kernels::BatchNormJoinArgs;
using kernels::BatchNormMomentsArgs;
using kernels::BatchNormStatisticsArgs;

namespace {

/// Rows whose mean and squares are computed in two passes over the first-level cache.
constexpr std::int64_t kBlock = 32;

/// Mean and sum of squared deviations of each lane. Values are relative to the channel's first one,
/// so that a mean far larger than the deviation costs no digits.
struct Moments {
  float *mean, *squares;
};

template <class T>
void block_moments(
    const T* x, const float* origin, std::int64_t rows, std::int64_t lanes, const Moments& out) {
  // Adds term(element, lane) over all rows, four at a time in registers.
  const auto add = [=](float* sums, auto term) {
    std::fill_n(sums, lanes, 0.0F);
    std::int64_t row = 0;
    for (; row + 4 <= rows; row += 4) {
      const std::int64_t i = row * lanes;
      LEARN_VECTORIZE
      for (std::int64_t j = 0; j < lanes; ++j)
        sums[j] += (term(i + j, j) + term(i + lanes + j, j)) +
                   (term(i + 2 * lanes + j, j) + term(i + 3 * lanes + j, j));
    }
    for (; row < rows; ++row) {
      LEARN_VECTORIZE
      for (std::int64_t j = 0; j < lanes; ++j) sums[j] += term(row * lanes + j, j);
    }
  };
  float* mean = out.mean;
  add(mean, [=](std::int64_t i, std::int64_t j) { return as_float(x[i]) - origin[j]; });
  const float part = 1.0F / static_cast<float>(rows);
  LEARN_VECTORIZE
  for (std::int64_t j = 0; j < lanes; ++j) mean[j] *= part;
  add(out.squares, [=](std::int64_t i, std::int64_t j) {
    const float off = (as_float(x[i]) - origin[j]) - mean[j];
    return off * off;
  });
}

/// Adds the moments of `more` rows to the moments of `rows` (Chan, Golub and LeVeque 1979).
inline void merge(const Moments& into,
                  std::int64_t rows,
                  const Moments& from,
                  std::int64_t more,
                  std::int64_t lanes) {
  const float share = static_cast<float>(more) / static_cast<float>(rows + more);
  const float spread = share * static_cast<float>(rows);
  LEARN_VECTORIZE
  for (std::int64_t j = 0; j < lanes; ++j) {
    const float step = from.mean[j] - into.mean[j];
    into.mean[j] += step * share;
    into.squares[j] += from.squares[j] + step * step * spread;
  }
}

/// The lanes of one chunk in the workspace: the result, and the moments of the current block.
struct ChunkMoments {
  Moments total, block;
  ChunkMoments(float* workspace, std::int64_t width, std::int64_t chunk) {
    float* lanes = workspace + 4 * width * chunk;
    total = {lanes, lanes + width};
    block = {lanes + 2 * width, lanes + 3 * width};
  }
};

/// Number of lanes joined at once.
constexpr std::int64_t kJoined = 64;

/// Joins the chunks' moments of a range of at most `kJoined` lanes into `out`. A lane without
/// values, which occurs in a small tensor, gets zeros.
void join_chunks(const ChannelFolding& folding,
                 float* parts,
                 std::int64_t begin,
                 std::int64_t end,
                 const Moments& out) {
  double mean[kJoined] = {};
  double squares[kJoined] = {};
  const std::int64_t chunks = folding.chunks();
  const std::int64_t lanes = end - begin;
  const auto for_parts = [=](auto body) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t rows = folding.rows * (chunk + 1) / chunks - folding.rows * chunk / chunks;
      const ChunkMoments part(parts, folding.width, chunk);
      body(static_cast<double>(rows), part.total.mean + begin, part.total.squares + begin, lanes);
    }
    const ChunkMoments tail(parts, folding.width, chunks);
    const std::int64_t in_tail = std::clamp<std::int64_t>(folding.tail - begin, 0, lanes);
    body(1.0, tail.total.mean + begin, tail.total.squares + begin, in_tail);
  };
  for_parts([&](double rows, const float* part_mean, const float*, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) mean[j] += rows * static_cast<double>(part_mean[j]);
  });
  for (std::int64_t j = 0; j < lanes; ++j) mean[j] /= std::max(1.0, folding.lane_rows(begin + j));
  for_parts([&](double rows, const float* part_mean, const float* part_squares, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double off = static_cast<double>(part_mean[j]) - mean[j];
      squares[j] += static_cast<double>(part_squares[j]) + rows * off * off;
    }
  });
  for (std::int64_t j = 0; j < lanes; ++j) {
    out.mean[begin + j] = static_cast<float>(mean[j]);
    out.squares[begin + j] = static_cast<float>(squares[j]);
  }
}

/// Joins the lanes of one channel.
void join_lanes(const ChannelFolding& folding,
                const Moments& lanes,
                std::int64_t channel,
                double& mean,
                double& squares) {
  double count = 0;
  double sum = 0;
  for (std::int64_t v = channel; v < folding.width; v += folding.channels) {
    count += folding.lane_rows(v);
    sum += folding.lane_rows(v) * static_cast<double>(lanes.mean[v]);
  }
  mean = sum / count;
  squares = 0;
  for (std::int64_t v = channel; v < folding.width; v += folding.channels) {
    const double off = static_cast<double>(lanes.mean[v]) - mean;
    squares += static_cast<double>(lanes.squares[v]) + folding.lane_rows(v) * off * off;
  }
}

/// The moments of each lane over all rows, in the workspace.
struct LaneMoments {
  ChannelFolding folding;
  const float* origin;  ///< subtracted from all values of a lane
  Moments joined;

  /// Computes mean and sum of squared deviations of channel `c`.
  void join(std::int64_t c, double& mean, double& squares) const {
    join_lanes(folding, joined, c, mean, squares);
    mean += static_cast<double>(origin[c]);
  }
};

/// Calls `use` with the moments of x (rows, channels).
template <class T>
void with_moments(const Exec& exec,
                  std::int64_t row_count,
                  std::int64_t channels,
                  const T* x,
                  FunctionRef<void(const LaneMoments&)> use) {
  ThreadPool& threads = exec.threads;
  const FloatWorkspace memory(exec.workspace, batch_norm_workspace(row_count, channels));
  float* const workspace = memory.data();
  const ChannelFolding folding(row_count, channels);
  const std::int64_t width = folding.width;
  float* origin = workspace;
  const Moments joined{workspace + width, workspace + 2 * width};
  float* parts = workspace + 3 * width;
  for (std::int64_t c = 0; c < channels; ++c) origin[c] = as_float(x[c]);
  folding.repeat(origin);
  threads.for_chunks(
      folding.rows, folding.grain(), [=](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
        const ChunkMoments part(parts, width, chunk);
        simd::run([=] {
          for (std::int64_t row = begin; row < end; row += kBlock) {
            const std::int64_t rows = std::min(kBlock, end - row);
            const Moments& out = row == begin ? part.total : part.block;
            block_moments(x + row * width, origin, rows, width, out);
            if (row > begin) merge(part.total, row - begin, part.block, rows, width);
          }
        });
      });
  const ChunkMoments tail(parts, width, folding.chunks());
  for (std::int64_t j = 0; j < folding.tail; ++j) {
    tail.total.mean[j] = as_float(x[folding.rows * width + j]) - origin[j];
    tail.total.squares[j] = 0;
  }
  threads.parallel_for(width, 4 * kJoined, [=](std::int64_t begin, std::int64_t end) {
    simd::run([=] {
      for (std::int64_t lane = begin; lane < end; lane += kJoined)
        join_chunks(folding, parts, lane, std::min(lane + kJoined, end), joined);
    });
  });
  use({folding, origin, joined});
}

/// Writes mean and rstd of a channel with `count` rows, and updates its running statistics.
template <class Args>
void finish_channel(const Args& args, std::int64_t c, double mean, double squares, double count) {
  const auto momentum = static_cast<double>(args.momentum);
  const auto move = [momentum](float& running, double batch) {
    running = static_cast<float>((1 - momentum) * static_cast<double>(running) + momentum * batch);
  };
  args.mean[c] = static_cast<float>(mean);
  args.rstd[c] = static_cast<float>(1 / std::sqrt(squares / count + static_cast<double>(args.eps)));
  move(args.running_mean[c], mean);
  move(args.running_var[c], squares / (count - 1));
}

}  // namespace

template <class T>
void batch_norm_statistics(const Exec& exec, const BatchNormStatisticsArgs<T>& args) {
  with_moments(exec, args.rows, args.channels, args.x, [&](const LaneMoments& lanes) {
    for (std::int64_t c = 0; c < args.channels; ++c) {
      double mean = 0;
      double squares = 0;
      lanes.join(c, mean, squares);
      finish_channel(args, c, mean, squares, static_cast<double>(args.rows));
    }
  });
}

template <class T>
void batch_norm_moments(const Exec& exec, const BatchNormMomentsArgs<T>& args) {
  with_moments(exec, args.rows, args.channels, args.x, [&](const LaneMoments& lanes) {
    for (std::int64_t c = 0; c < args.channels; ++c) {
      double mean = 0;
      double squares = 0;
      lanes.join(c, mean, squares);
      args.moments[c] = static_cast<float>(mean);
      args.moments[args.channels + c] = static_cast<float>(squares);
    }
    args.moments[2 * args.channels] = static_cast<float>(args.rows);
  });
}

void batch_norm_join_moments(const Exec&, const BatchNormJoinArgs<float>& args) {
  const std::int64_t channels = args.channels;
  double count = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    double mean = 0;
    double squares = 0;
    count = 0;
    for (std::int64_t r = 0; r < args.ranks; ++r) {
      const float* const rank = args.moments + r * (2 * channels + 1);
      const auto more = static_cast<double>(rank[2 * channels]);
      if (more == 0) continue;
      const double step = static_cast<double>(rank[c]) - mean;
      const double share = more / (count + more);
      mean += step * share;
      squares += static_cast<double>(rank[channels + c]) + step * step * share * count;
      count += more;
    }
    finish_channel(args, c, mean, squares, count);
  }
  args.rows[0] = static_cast<float>(count);
}

template void batch_norm_statistics(const Exec&, const BatchNormStatisticsArgs<float>&);
template void batch_norm_statistics(const Exec&, const BatchNormStatisticsArgs<Half>&);
template void batch_norm_statistics(const Exec&, const BatchNormStatisticsArgs<BFloat16>&);
template void batch_norm_moments(const Exec&, const BatchNormMomentsArgs<float>&);
template void batch_norm_moments(const Exec&, const BatchNormMomentsArgs<Half>&);
template void batch_norm_moments(const Exec&, const BatchNormMomentsArgs<BFloat16>&);

void batch_norm_running_statistics(const Exec&,
                                   const float* running_mean,
                                   const float* running_var,
                                   float eps,
                                   float* mean,
                                   float* rstd,
                                   std::int64_t channels) {
  for (std::int64_t c = 0; c < channels; ++c) {
    mean[c] = running_mean[c];
    rstd[c] = static_cast<float>(
        1 / std::sqrt(static_cast<double>(running_var[c]) + static_cast<double>(eps)));
  }
}

}  // namespace learn::cpu
