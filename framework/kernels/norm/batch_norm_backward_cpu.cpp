#include "framework/core/function_ref.h"
#include "framework/kernels/common/cpu/activation_functions.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/norm/batch_norm_kernels.h"
#include "framework/kernels/norm/batch_norm_lanes_cpu.h"

#include <algorithm>
#include <type_traits>

namespace learn::cpu {

using kernels::BatchNormBackwardArgs;
using kernels::BatchNormRankSumsArgs;

namespace {

/// Rows added up in f32 before their sum is added to the chunk's, which limits rounding errors.
constexpr std::int64_t kBlock = 32;
/// Rows added up in registers before the sums in memory are accessed.
constexpr std::int64_t kUnrolled = 4;
/// Rows of dx that are written before the same rows of dresidual.
constexpr std::int64_t kWritten = 8;

/// Values per lane, in the workspace.
struct Lanes {
  float *scale, *shift;      ///< bn(x) = x * scale + shift
  float* mean;               ///< x - mean is summed because a large mean would swamp the sum
  float *constant, *factor;  ///< dx = scale * g + factor * x + constant
  float* joined;             ///< sums of g, then of g * (x - mean), over all rows
  float* sums;               ///< of a chunk: g, g * (x - mean), and both again for a block
  Lanes(float* workspace, std::int64_t width)
      : scale(workspace),
        shift(workspace + width),
        mean(workspace + 2 * width),
        constant(workspace + 3 * width),
        factor(workspace + 4 * width),
        joined(workspace + 5 * width),
        sums(workspace + 7 * width) {}
};

/// The gradient of bn(x) as a function of the element: dy * act'(bn(x) [+ residual]).
template <bool with_residual, class T, class Slope>
struct InnerGradient {
  const T *x, *dy, *residual;
  const float *scale, *shift;
  Slope slope;

  [[nodiscard]] float operator()(std::int64_t i, std::int64_t lane) const {
    float inner = as_float(x[i]) * scale[lane] + shift[lane];
    if constexpr (with_residual) inner += as_float(residual[i]);
    return as_float(dy[i]) * slope(inner);
  }
};

/// The gradient of bn(x) as a function of the element, computed in advance.
template <class T>
struct StagedGradient {
  const T *x, *dy;
  const float* scale;
  const float* values;

  [[nodiscard]] float operator()(std::int64_t i, std::int64_t) const { return values[i]; }
};

/// Passes the gradients of a piecewise linear activation, or without one, to a loop: all rows at
/// once, with each element computed where it is used.
template <bool with_residual, class T, class Slope>
struct DirectRows {
  static constexpr bool kWithResidual = with_residual;
  BatchNormBackwardArgs<T> args;
  Lanes lane;
  Slope slope;

  /// Calls `body(gradient, first element, first lane, rows, lanes)`. The gradient and its x, dy and
  /// scale are relative to that element and lane. If the body used other copies of these pointers,
  /// everything would be loaded twice.
  template <class Body>
  void operator()(std::int64_t first, std::int64_t rows, std::int64_t lanes, Body body) const {
    const InnerGradient<with_residual, T, Slope> gradient{
        args.x + first,
        args.dy + first,
        with_residual ? args.residual + first : nullptr,
        lane.scale,
        lane.shift,
        slope};
    body(gradient, first, 0, rows, lanes);
  }
};

/// Passes the gradients of a smooth activation to a loop: row by row and strip by strip, computed
/// in advance.
template <bool with_residual, class T>
struct StagedRows {
  static constexpr bool kWithResidual = with_residual;
  BatchNormBackwardArgs<T> args;
  Lanes lane;

  template <class Body>
  void operator()(std::int64_t first, std::int64_t rows, std::int64_t lanes, Body body) const {
    for (std::int64_t row = 0; row < rows; ++row)
      for_strips(lanes, [=, this](std::int64_t j, std::int64_t n) {
        float strip[kStrip];
        const std::int64_t begin = first + row * lanes + j;
        const T* x = args.x + begin;
        const T* dy = args.dy + begin;
        const T* residual = with_residual ? args.residual + begin : nullptr;
        normalize_strip(x, residual, lane.scale + j, lane.shift + j, strip, n);
        smooth_slopes(args.activation, strip, n);
        LEARN_VECTORIZE
        for (std::int64_t k = 0; k < n; ++k) strip[k] *= as_float(dy[k]);
        body(StagedGradient<T>{x, dy, lane.scale + j, strip}, begin, j, 1, n);
      });
  }
};

/// Adds g to sum[j] and g * (x - mean) to sum_x[j] over `rows` rows of `lanes` elements.
template <class Gradient>
void add_rows(Gradient g,
              const float* mean,
              std::int64_t rows,
              std::int64_t lanes,
              float* sum,
              float* sum_x) {
  const auto pair = [=](std::int64_t i, std::int64_t j, float& total, float& total_x) {
    const float value = g(i, j);
    total += value;
    total_x += value * (as_float(g.x[i]) - mean[j]);
  };
  std::int64_t row = 0;
  for (; row + kUnrolled <= rows; row += kUnrolled) {
    LEARN_VECTORIZE
    for (std::int64_t j = 0; j < lanes; ++j) {
      float total = 0;
      float total_x = 0;
      for (std::int64_t k = 0; k < kUnrolled; ++k) pair((row + k) * lanes + j, j, total, total_x);
      sum[j] += total;
      sum_x[j] += total_x;
    }
  }
  for (; row < rows; ++row) {
    LEARN_VECTORIZE
    for (std::int64_t j = 0; j < lanes; ++j) pair(row * lanes + j, j, sum[j], sum_x[j]);
  }
}

/// Computes out (+)= value(element, lane) for a range of rows of `lanes` elements.
template <class T, class Value>
void write_rows(
    GradMode mode, std::int64_t begin, std::int64_t end, std::int64_t lanes, T* out, Value value) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t first = row * lanes;
    if (mode == GradMode::overwrite) {
      LEARN_VECTORIZE
      for (std::int64_t j = 0; j < lanes; ++j) out[first + j] = from_float<T>(value(first + j, j));
    } else {
      LEARN_VECTORIZE
      for (std::int64_t j = 0; j < lanes; ++j)
        out[first + j] = from_float<T>(as_float(out[first + j]) + value(first + j, j));
    }
  }
}

/// Computes the sums of g and g * (x - mean) for each chunk, with the tail as one more chunk.
template <class Rows>
void reduce(ThreadPool& threads,
            const Rows& gradients,
            const ChannelFolding& folding,
            const Lanes& lane) {
  const std::int64_t width = folding.width;
  const float* mean = lane.mean;
  const auto add =
      [=](std::int64_t first, std::int64_t rows, std::int64_t lanes, float* sum, float* sum_x) {
        gradients(first,
                  rows,
                  lanes,
                  [=](auto g, std::int64_t, std::int64_t j, std::int64_t n, std::int64_t m) {
                    add_rows(g, mean + j, n, m, sum + j, sum_x + j);
                  });
      };
  threads.for_chunks(
      folding.rows, folding.grain(), [=](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
        float* total = lane.sums + 4 * width * chunk;
        simd::run([=] {
          float* block = total + 2 * width;
          std::fill_n(total, 2 * width, 0.0F);
          for (std::int64_t row = begin; row < end; row += kBlock) {
            std::fill_n(block, 2 * width, 0.0F);
            add(row * width, std::min(kBlock, end - row), width, block, block + width);
            LEARN_VECTORIZE
            for (std::int64_t j = 0; j < 2 * width; ++j) total[j] += block[j];
          }
        });
      });
  float* tail = lane.sums + 4 * width * folding.chunks();
  std::fill_n(tail, 2 * width, 0.0F);
  if (folding.tail > 0) add(folding.rows * width, 1, folding.tail, tail, tail + width);
}

/// Adds up the sums of the chunks and the tail for a range of lanes of both kinds.
void join_chunks(const ChannelFolding& folding,
                 const Lanes& lane,
                 std::int64_t begin,
                 std::int64_t end) {
  constexpr std::int64_t kJoined = 64;
  for (std::int64_t first = begin; first < end; first += kJoined) {
    const std::int64_t lanes = std::min(kJoined, end - first);
    double sum[kJoined] = {};
    for (std::int64_t chunk = 0; chunk <= folding.chunks(); ++chunk) {
      const float* part = lane.sums + 4 * folding.width * chunk + first;
      for (std::int64_t j = 0; j < lanes; ++j) sum[j] += static_cast<double>(part[j]);
    }
    for (std::int64_t j = 0; j < lanes; ++j) lane.joined[first + j] = static_cast<float>(sum[j]);
  }
}

/// Sums of g and of g * xhat over the rows of one channel, with xhat = (x - mean) * rstd.
struct ChannelSums {
  double g = 0;
  double g_xhat = 0;
};

/// Adds up the lanes of channel `c`.
ChannelSums join_lanes(const ChannelFolding& folding,
                       const Lanes& lane,
                       const float* rstd,
                       std::int64_t c) {
  ChannelSums sums;
  double sum_x = 0;
  for (std::int64_t v = c; v < folding.width; v += folding.channels) {
    sums.g += static_cast<double>(lane.joined[v]);
    sum_x += static_cast<double>(lane.joined[folding.width + v]);
  }
  sums.g_xhat = sum_x * static_cast<double>(rstd[c]);
  return sums;
}

/// Writes the parameter gradients of one channel, from the sums over the `own` rows, and the
/// coefficients of its dx, from the sums over all `count` rows that have its statistics.
template <class T>
void finish_channel(const BatchNormBackwardArgs<T>& args,
                    const Lanes& lane,
                    std::int64_t c,
                    const ChannelSums& own,
                    const ChannelSums& all,
                    double count) {
  const auto put = [](GradMode mode, float& out, double value) {
    out =
        static_cast<float>(mode == GradMode::accumulate ? static_cast<double>(out) + value : value);
  };
  if (args.dweight != nullptr) put(args.dweight_mode, args.dweight[c], own.g_xhat);
  if (args.dbias != nullptr) put(args.dbias_mode, args.dbias[c], own.g);
  const auto rstd = static_cast<double>(args.rstd[c]);
  const auto scale = static_cast<double>(lane.scale[c]);
  const double factor = -scale * rstd * all.g_xhat / count;
  lane.factor[c] = static_cast<float>(factor);
  lane.constant[c] =
      static_cast<float>(-scale * all.g / count -
                         static_cast<double>(args.mean[c]) * static_cast<double>(lane.factor[c]));
}

/// Writes dx, then dresidual, block by block. So both find x and dy in the first-level cache, and
/// they may be the same memory.
template <class Rows, class T>
void write_gradients(ThreadPool& threads,
                     const Rows& gradients,
                     const BatchNormBackwardArgs<T>& args,
                     const ChannelFolding& folding,
                     const Lanes& lane) {
  folding.for_pieces(threads, [=](std::int64_t piece, std::int64_t rows, std::int64_t width) {
    const auto write =
        [=](auto g, std::int64_t i0, std::int64_t j0, std::int64_t n, std::int64_t lanes) {
          const float* factor = lane.factor + j0;
          const float* constant = lane.constant + j0;
          const auto dx = [=](std::int64_t i, std::int64_t j) {
            return g.scale[j] * g(i, j) + (factor[j] * as_float(g.x[i]) + constant[j]);
          };
          // Without batch statistics, y depends on x only through bn's scale. Adding 0 * x would
          // give NaN for an infinite x.
          const auto scaled = [=](std::int64_t i, std::int64_t j) { return g.scale[j] * g(i, j); };
          const auto dresidual = [=](std::int64_t i, std::int64_t j) {
            if constexpr (Rows::kWithResidual)
              return g(i, j);
            else
              return as_float(g.dy[i]);
          };
          for (std::int64_t row = 0; row < n; row += kWritten) {
            const std::int64_t stop = std::min(row + kWritten, n);
            if (args.dx != nullptr && args.batch_statistics)
              write_rows(args.dx_mode, row, stop, lanes, args.dx + i0, dx);
            else if (args.dx != nullptr)
              write_rows(args.dx_mode, row, stop, lanes, args.dx + i0, scaled);
            if (args.dresidual != nullptr)
              write_rows(args.dresidual_mode, row, stop, lanes, args.dresidual + i0, dresidual);
          }
        };
    simd::run([=] { gradients(piece, rows, width, write); });
  });
}

/// Adds up the gradients if `with_sums`, calls `finish`, which uses the sums and sets the
/// coefficients, and writes the requested ones of dx and dresidual.
template <class T>
void run_steps(const Exec& exec,
               const BatchNormBackwardArgs<T>& args,
               bool with_sums,
               FunctionRef<void(const ChannelFolding&, const Lanes&)> finish) {
  ThreadPool& threads = exec.threads;
  const FloatWorkspace memory(exec.workspace, batch_norm_workspace(args.rows, args.channels));
  float* const workspace = memory.data();
  const ChannelFolding folding(args.rows, args.channels);
  const Lanes lane(workspace, folding.width);
  batch_norm_affine(args, folding, lane.scale, lane.shift);
  std::copy_n(args.mean, args.channels, lane.mean);
  folding.repeat(lane.mean);

  const auto run = [&](const auto& gradients) {
    if (with_sums) {
      reduce(threads, gradients, folding, lane);
      simd::parallel_for(
          threads, 2 * folding.width, 512, [=](std::int64_t begin, std::int64_t end) {
            join_chunks(folding, lane, begin, end);
          });
    }
    finish(folding, lane);
    if (args.dx != nullptr || args.dresidual != nullptr)
      write_gradients(threads, gradients, args, folding, lane);
  };
  const bool inside = args.residual != nullptr && args.residual_before_activation;
  if (is_smooth(args.activation)) {
    if (inside)
      run(StagedRows<true, T>{args, lane});
    else
      run(StagedRows<false, T>{args, lane});
  } else {
    with_slope(args.activation, [&]<class Slope>(Slope slope) {
      // The identity's gradient is dy wherever the residual was added.
      if constexpr (!std::is_same_v<Slope, UnitSlope>)
        if (inside) return run(DirectRows<true, T, Slope>{args, lane, slope});
      run(DirectRows<false, T, Slope>{args, lane, slope});
    });
  }
}

}  // namespace

template <class T>
void batch_norm_backward(const Exec& exec, const BatchNormBackwardArgs<T>& args) {
  const bool with_sums = args.batch_statistics || args.dweight != nullptr || args.dbias != nullptr;
  run_steps(exec, args, with_sums, [&](const ChannelFolding& folding, const Lanes& lane) {
    if (!with_sums) return;
    for (std::int64_t c = 0; c < args.channels; ++c) {
      const ChannelSums sums = join_lanes(folding, lane, args.rstd, c);
      finish_channel(args, lane, c, sums, sums, static_cast<double>(args.rows));
    }
    folding.repeat(lane.factor);
    folding.repeat(lane.constant);
  });
}

template <class T>
void batch_norm_gradient_sums(const Exec& exec, const BatchNormBackwardArgs<T>& args, float* out) {
  run_steps(exec, args, true, [&](const ChannelFolding& folding, const Lanes& lane) {
    for (std::int64_t c = 0; c < args.channels; ++c) {
      const ChannelSums sums = join_lanes(folding, lane, args.rstd, c);
      out[c] = static_cast<float>(sums.g);
      out[args.channels + c] = static_cast<float>(sums.g_xhat);
    }
  });
}

template <class T>
void batch_norm_joined_backward(const Exec& exec,
                                const BatchNormBackwardArgs<T>& args,
                                const BatchNormRankSumsArgs<float>& sums) {
  const std::int64_t channels = args.channels;
  const auto of = [=](const float* rank, std::int64_t c) {
    return ChannelSums{static_cast<double>(rank[c]), static_cast<double>(rank[channels + c])};
  };
  run_steps(exec, args, false, [&](const ChannelFolding& folding, const Lanes& lane) {
    for (std::int64_t c = 0; c < channels; ++c) {
      ChannelSums all;
      for (std::int64_t r = 0; r < sums.ranks; ++r) {
        const ChannelSums rank = of(sums.all + 2 * r * channels, c);
        all.g += rank.g;
        all.g_xhat += rank.g_xhat;
      }
      finish_channel(args, lane, c, of(sums.own, c), all, static_cast<double>(sums.rows[0]));
    }
    folding.repeat(lane.factor);
    folding.repeat(lane.constant);
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

}  // namespace learn::cpu
