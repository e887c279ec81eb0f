#include "framework/backend/cpu/activation_functions.h"
#include "framework/backend/cpu/batch_norm.h"
#include "framework/backend/cpu/batch_norm_lanes.h"
#include "framework/backend/cpu/vectorize.h"

#include <algorithm>

namespace learn::backend::cpu {
namespace {

/// Rows added up in f32 before their sum joins the chunk's: keeps rounding errors from growing.
constexpr std::int64_t kBlock = 32;
/// Rows added up in registers before the sums in memory are touched.
constexpr std::int64_t kUnrolled = 4;
/// Rows of dx that are written before those of dresidual.
constexpr std::int64_t kWritten = 8;

/// Per lane, in the workspace.
struct Lanes {
  float *scale, *shift;      ///< bn(x) = x * scale + shift
  float* mean;               ///< x - mean is summed: a large mean must not drown the sum
  float *constant, *factor;  ///< dx = scale * g + factor * x + constant
  float* joined;             ///< sums of g, then of g * (x - mean), over all rows
  float* sums;               ///< of a chunk: g, g * (x - mean), and the same of a block
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

/// sum[j] += g and sum_x[j] += g * (x - mean) over rows [begin, end) of `lanes` elements.
template <class T, class Gradient>
void add_rows(Gradient g,
              const T* x,
              const float* mean,
              std::int64_t begin,
              std::int64_t end,
              std::int64_t lanes,
              float* sum,
              float* sum_x) {
  const auto pair = [=](std::int64_t i, std::int64_t j, float& total, float& total_x) {
    const float value = g(i, j);
    total += value;
    total_x += value * (as_float(x[i]) - mean[j]);
  };
  std::int64_t row = begin;
  for (; row + kUnrolled <= end; row += kUnrolled) {
    LEARN_VECTORIZE
    for (std::int64_t j = 0; j < lanes; ++j) {
      float total = 0;
      float total_x = 0;
      for (std::int64_t k = 0; k < kUnrolled; ++k) pair((row + k) * lanes + j, j, total, total_x);
      sum[j] += total;
      sum_x[j] += total_x;
    }
  }
  for (; row < end; ++row) {
    LEARN_VECTORIZE
    for (std::int64_t j = 0; j < lanes; ++j) pair(row * lanes + j, j, sum[j], sum_x[j]);
  }
}

/// out (+)= value(element, lane), for rows [begin, end) of `lanes` elements.
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

template <bool with_residual, class T, class Slope>
[[nodiscard]] InnerGradient<with_residual, T, Slope> gradient_at(
    const BatchNormBackwardArgs<T>& args, const Lanes& lane, Slope slope, std::int64_t first) {
  return {args.x + first,
          args.dy + first,
          with_residual ? args.residual + first : nullptr,
          lane.scale,
          lane.shift,
          slope};
}

/// Sums of g and g * (x - mean) for each chunk, and for the tail as one more.
template <bool with_residual, class T, class Slope>
void reduce(ThreadPool& threads,
            const BatchNormBackwardArgs<T>& args,
            const ChannelFolding& folding,
            const Lanes& lane,
            Slope slope) {
  const std::int64_t width = folding.width;
  const auto g = gradient_at<with_residual>(args, lane, slope, 0);
  const T* x = args.x;
  const float* mean = lane.mean;
  threads.for_chunks(
      folding.rows, folding.grain(), [=](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
        float* total = lane.sums + 4 * width * chunk;
        simd::run([=] {
          float* block = total + 2 * width;
          std::fill_n(total, 2 * width, 0.0F);
          for (std::int64_t row = begin; row < end; row += kBlock) {
            std::fill_n(block, 2 * width, 0.0F);
            const std::int64_t stop = std::min(row + kBlock, end);
            add_rows(g, x, mean, row, stop, width, block, block + width);
            LEARN_VECTORIZE
            for (std::int64_t j = 0; j < 2 * width; ++j) total[j] += block[j];
          }
        });
      });
  float* tail = lane.sums + 4 * width * folding.chunks();
  std::fill_n(tail, 2 * width, 0.0F);
  const std::int64_t first = folding.rows * width;
  add_rows(gradient_at<with_residual>(args, lane, slope, first),
           x + first,
           mean,
           0,
           folding.tail > 0 ? 1 : 0,
           folding.tail,
           tail,
           tail + width);
}

/// Adds up the chunks' sums and the tail's, for lanes [begin, end) of both kinds.
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

/// Writes the gradients of one channel's parameters and dx's coefficients.
template <class T>
void finish_channel(const BatchNormBackwardArgs<T>& args,
                    const ChannelFolding& folding,
                    const Lanes& lane,
                    std::int64_t c) {
  double sum = 0;
  double sum_x = 0;
  for (std::int64_t v = c; v < folding.width; v += folding.channels) {
    sum += static_cast<double>(lane.joined[v]);
    sum_x += static_cast<double>(lane.joined[folding.width + v]);
  }
  const auto rstd = static_cast<double>(args.rstd[c]);
  const double sum_xhat = sum_x * rstd;
  const auto put = [](GradMode mode, float& out, double value) {
    out =
        static_cast<float>(mode == GradMode::accumulate ? static_cast<double>(out) + value : value);
  };
  if (args.dweight != nullptr) put(args.dweight_mode, args.dweight[c], sum_xhat);
  if (args.dbias != nullptr) put(args.dbias_mode, args.dbias[c], sum);
  const auto scale = static_cast<double>(lane.scale[c]);
  const auto count = static_cast<double>(args.rows);
  const double factor = -scale * rstd * sum_xhat / count;
  lane.factor[c] = static_cast<float>(factor);
  lane.constant[c] =
      static_cast<float>(-scale * sum / count -
                         static_cast<double>(args.mean[c]) * static_cast<double>(lane.factor[c]));
}

/// Without batch statistics x reaches y only through bn's scale.
void keep_scale_only(const ChannelFolding& folding, const Lanes& lane) {
  std::fill_n(lane.factor, folding.width, 0.0F);
  std::fill_n(lane.constant, folding.width, 0.0F);
}

/// Writes dx, then dresidual, block by block: so both find x and dy in the first-level cache, and
/// they may be the same memory.
template <bool with_residual, class T, class Slope>
void write_gradients(ThreadPool& threads,
                     const BatchNormBackwardArgs<T>& args,
                     const ChannelFolding& folding,
                     const Lanes& lane,
                     Slope slope) {
  folding.for_pieces(threads, [=](std::int64_t first, std::int64_t rows, std::int64_t lanes) {
    const auto g = gradient_at<with_residual>(args, lane, slope, first);
    const auto dx = [=](std::int64_t i, std::int64_t j) {
      return lane.scale[j] * g(i, j) + (lane.factor[j] * as_float(g.x[i]) + lane.constant[j]);
    };
    const auto dresidual = [=](std::int64_t i, std::int64_t j) {
      if constexpr (with_residual)
        return g(i, j);
      else
        return as_float(g.dy[i]);
    };
    simd::run([=] {
      for (std::int64_t row = 0; row < rows; row += kWritten) {
        const std::int64_t stop = std::min(row + kWritten, rows);
        if (args.dx != nullptr) write_rows(args.dx_mode, row, stop, lanes, args.dx + first, dx);
        if (args.dresidual != nullptr)
          write_rows(args.dresidual_mode, row, stop, lanes, args.dresidual + first, dresidual);
      }
    });
  });
}

}  // namespace

template <class T>
void batch_norm_backward(ThreadPool& threads,
                         const BatchNormBackwardArgs<T>& args,
                         float* workspace) {
  const ChannelFolding folding(args.rows, args.channels);
  const Lanes lane(workspace, folding.width);
  batch_norm_affine(args, folding, lane.scale, lane.shift);
  std::copy_n(args.mean, args.channels, lane.mean);
  folding.repeat(lane.mean);

  const auto run = [&]<bool with_residual>(auto slope) {
    if (args.batch_statistics || args.dweight != nullptr || args.dbias != nullptr) {
      reduce<with_residual>(threads, args, folding, lane, slope);
      simd::parallel_for(
          threads, 2 * folding.width, 512, [=](std::int64_t begin, std::int64_t end) {
            join_chunks(folding, lane, begin, end);
          });
      for (std::int64_t c = 0; c < args.channels; ++c) finish_channel(args, folding, lane, c);
      folding.repeat(lane.factor);
      folding.repeat(lane.constant);
    }
    if (!args.batch_statistics) keep_scale_only(folding, lane);
    if (args.dx != nullptr || args.dresidual != nullptr)
      write_gradients<with_residual>(threads, args, folding, lane, slope);
  };
  with_activation(args.activation, [&](auto, auto slope) {
    if (args.residual != nullptr && args.residual_before_activation)
      run.template operator()<true>(slope);
    else
      run.template operator()<false>(slope);
  });
}

template void batch_norm_backward(ThreadPool&, const BatchNormBackwardArgs<float>&, float*);
template void batch_norm_backward(ThreadPool&, const BatchNormBackwardArgs<Half>&, float*);
template void batch_norm_backward(ThreadPool&, const BatchNormBackwardArgs<BFloat16>&, float*);

}  // namespace learn::backend::cpu
