#include "framework/backend/cpu/activation_functions.h"
#include "framework/backend/cpu/batch_norm.h"
#include "framework/backend/cpu/batch_norm_lanes.h"

#include <algorithm>

namespace learn::backend::cpu {
namespace {

/// Rows added up in f32 before their sum joins the chunk's: keeps rounding errors from growing.
constexpr std::int64_t kBlock = 32;

/// Per lane, in the workspace.
struct Lanes {
  float *scale, *shift;      ///< bn(x) = x * scale + shift
  float* mean;               ///< x - mean is summed: a large mean must not drown the sum
  float *constant, *factor;  ///< dx = scale * g + factor * x + constant
  float* sums;               ///< of a chunk: g, g * (x - mean), and the same of a block
  Lanes(float* workspace, std::int64_t width)
      : scale(workspace),
        shift(workspace + width),
        mean(workspace + 2 * width),
        constant(workspace + 3 * width),
        factor(workspace + 4 * width),
        sums(workspace + 5 * width) {}
};

/// The gradient of bn(x) for element j of a row that begins at `first`.
template <class T, class Slope>
struct InnerGradient {
  const T* __restrict x;
  const T* __restrict dy;
  const T* __restrict residual;
  const float* __restrict scale;
  const float* __restrict shift;
  Slope slope;

  InnerGradient(const BatchNormBackwardArgs<T>& args,
                const Lanes& lanes,
                Slope slope_in,
                std::int64_t first)
      : x(args.x + first),
        dy(args.dy + first),
        residual(args.residual == nullptr ? nullptr : args.residual + first),
        scale(lanes.scale),
        shift(lanes.shift),
        slope(slope_in) {}

  template <bool with_residual>
  [[nodiscard]] float at(std::int64_t j) const {
    float inner = as_float(x[j]) * scale[j] + shift[j];
    if constexpr (with_residual) inner += as_float(residual[j]);
    return as_float(dy[j]) * slope(inner);
  }
};

template <bool with_residual, class T, class Slope>
void add_row(const InnerGradient<T, Slope>& g,
             const float* __restrict mean,
             std::int64_t lanes,
             float* __restrict sum,
             float* __restrict sum_x) {
  for (std::int64_t j = 0; j < lanes; ++j) {
    const float value = g.template at<with_residual>(j);
    sum[j] += value;
    sum_x[j] += value * (as_float(g.x[j]) - mean[j]);
  }
}

template <bool with_residual, class T, class Slope>
void write_dx(const InnerGradient<T, Slope>& g,
              const Lanes& lane,
              GradMode mode,
              std::int64_t lanes,
              T* __restrict dx) {
  const float* __restrict scale = lane.scale;
  const float* __restrict factor = lane.factor;
  const float* __restrict constant = lane.constant;
  const auto value = [&](std::int64_t j) {
    return scale[j] * g.template at<with_residual>(j) +
           (factor[j] * as_float(g.x[j]) + constant[j]);
  };
  if (mode == GradMode::overwrite)
    for (std::int64_t j = 0; j < lanes; ++j) dx[j] = from_float<T>(value(j));
  else
    for (std::int64_t j = 0; j < lanes; ++j) dx[j] = from_float<T>(as_float(dx[j]) + value(j));
}

template <class T, class Value>
void write(GradMode mode, std::int64_t lanes, T* __restrict out, Value value) {
  if (mode == GradMode::overwrite)
    for (std::int64_t j = 0; j < lanes; ++j) out[j] = from_float<T>(value(j));
  else
    for (std::int64_t j = 0; j < lanes; ++j) out[j] = from_float<T>(as_float(out[j]) + value(j));
}

/// Sums of g and g * (x - mean) for each chunk, and for the tail as one more.
template <bool with_residual, class T, class Slope>
void reduce(ThreadPool& threads,
            const BatchNormBackwardArgs<T>& args,
            const ChannelFolding& folding,
            const Lanes& lane,
            Slope slope) {
  const std::int64_t width = folding.width;
  const auto add_rows = [&](std::int64_t first, std::int64_t rows, std::int64_t lanes, float* sum) {
    std::fill_n(sum, 2 * width, 0.0F);
    for (std::int64_t row = 0; row < rows; ++row)
      add_row<with_residual>(InnerGradient<T, Slope>(args, lane, slope, first + row * lanes),
                             lane.mean,
                             lanes,
                             sum,
                             sum + width);
  };
  threads.for_chunks(
      folding.rows, folding.grain(), [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
        float* total = lane.sums + 4 * width * chunk;
        float* block = total + 2 * width;
        std::fill_n(total, 2 * width, 0.0F);
        for (std::int64_t row = begin; row < end; row += kBlock) {
          add_rows(row * width, std::min(kBlock, end - row), width, block);
          for (std::int64_t j = 0; j < 2 * width; ++j) total[j] += block[j];
        }
      });
  float* tail = lane.sums + 4 * width * folding.chunks();
  add_rows(folding.rows * width, folding.tail > 0 ? 1 : 0, folding.tail, tail);
}

/// Adds up the chunks of one channel; writes its parameters' gradients and dx's coefficients.
template <class T>
void finish_channel(const BatchNormBackwardArgs<T>& args,
                    const ChannelFolding& folding,
                    const Lanes& lane,
                    std::int64_t c) {
  double sum = 0;
  double sum_x = 0;
  for (std::int64_t chunk = 0; chunk <= folding.chunks(); ++chunk) {
    const float* part = lane.sums + 4 * folding.width * chunk;
    for (std::int64_t v = c; v < folding.width; v += folding.channels) {
      sum += static_cast<double>(part[v]);
      sum_x += static_cast<double>(part[folding.width + v]);
    }
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

template <bool with_residual, class T, class Slope>
void write_gradients(ThreadPool& threads,
                     const BatchNormBackwardArgs<T>& args,
                     const ChannelFolding& folding,
                     const Lanes& lane,
                     Slope slope) {
  folding.for_pieces(threads, [&](std::int64_t first, std::int64_t rows, std::int64_t lanes) {
    for (std::int64_t row = 0; row < rows; ++row, first += lanes) {
      const InnerGradient<T, Slope> g(args, lane, slope, first);
      if (args.dx != nullptr)
        write_dx<with_residual>(g, lane, args.dx_mode, lanes, args.dx + first);
      if (args.dresidual == nullptr) continue;
      T* dresidual = args.dresidual + first;
      if (args.residual_before_activation)
        write(args.dresidual_mode, lanes, dresidual, [&](std::int64_t j) {
          return g.template at<with_residual>(j);
        });
      else
        write(args.dresidual_mode, lanes, dresidual, [&](std::int64_t j) {
          return as_float(g.dy[j]);
        });
    }
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
      threads.parallel_for(args.channels, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) finish_channel(args, folding, lane, c);
      });
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
