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
/// Elements whose gradients are computed in advance. They stay in the first-level cache.
constexpr std::int64_t kStaged = kUnrolled * kStrip;

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

/// A part of (rows, channels), with `pitch` elements from row to row.
struct Block {
  std::int64_t first;  ///< element
  std::int64_t lane;   ///< of that element
  std::int64_t rows, lanes, pitch;
};

/// Calls `body(block)` for blocks of at most `kBlock` rows and `kStaged` elements.
template <class Body>
void for_blocks(std::int64_t first, std::int64_t rows, std::int64_t lanes, const Body& body) {
  for_strips(lanes, [&](std::int64_t lane, std::int64_t n) {
    const std::int64_t most = std::min(kBlock, kStaged / n / kUnrolled * kUnrolled);
    for (std::int64_t row = 0; row < rows; row += most)
      body(Block{first + row * lanes + lane, lane, std::min(most, rows - row), n, lanes});
  });
}

/// The gradient of bn(x), dy * act'(bn(x) [+ residual]), of a block, computed where it is used.
/// `i` is an element relative to the block's first one, in row `row` and lane `j` of the block.
template <bool with_residual, class T, class Slope>
struct DirectGradient {
  static constexpr bool kDirect = true;
  static constexpr bool kWithResidual = with_residual;
  const T *x, *dy, *residual;
  const float *scale, *shift;
  Slope slope;

  [[nodiscard]] float operator()(std::int64_t i, std::int64_t, std::int64_t j) const {
    float inner = as_float(x[i]) * scale[j] + shift[j];
    if constexpr (with_residual) inner += as_float(residual[i]);
    return as_float(dy[i]) * slope(inner);
  }
};

/// The gradient of bn(x), computed in advance.
template <class T>
struct StagedGradient {
  static constexpr bool kDirect = false;
  const T *x, *dy;
  const float* scale;
  const float* values;
  std::int64_t lanes;

  [[nodiscard]] float operator()(std::int64_t, std::int64_t row, std::int64_t j) const {
    return values[row * lanes + j];
  }
};

/// Provides the gradients of bn(x): direct ones for the activations that are common in networks.
/// All others are computed in advance, block by block, so that the loops need no copy for each.
template <class T>
struct InnerGradient {
  BatchNormBackwardArgs<T> args;
  const float *scale, *shift;
  bool inside;  ///< whether a residual is added before an activation

  /// Calls `body(gradient)`. It is direct only if `direct`.
  template <class Body>
  void visit(const Block& block, bool direct, const Body& body) const {
    const auto pass = [&]<bool with_residual, class Slope>(Slope slope) {
      body(DirectGradient<with_residual, T, Slope>{
          args.x + block.first,
          args.dy + block.first,
          with_residual ? args.residual + block.first : nullptr,
          scale + block.lane,
          shift + block.lane,
          slope});
    };
    using Name = ActivationKind::Name;
    const Name name = args.activation.name;
    if (direct && name == Name::identity) return pass.template operator()<false>(UnitSlope{});
    if (direct && name == Name::relu && inside) return pass.template operator()<true>(ReluSlope{});
    if (direct && name == Name::relu) return pass.template operator()<false>(ReluSlope{});
    if (direct && name == Name::relu6 && !inside)
      return pass.template operator()<false>(Relu6Slope{});
    if (direct && name == Name::leaky_relu && !inside)
      return pass.template operator()<false>(LeakySlope{args.activation.slope});
    float staged[kStaged];
    stage(block, staged);
    body(StagedGradient<T>{
        args.x + block.first, args.dy + block.first, scale + block.lane, staged, block.lanes});
  }

 private:
  void stage(const Block& block, float* staged) const {
    const auto for_rows = [&](auto body) {
      simd::run([=, first = block.first, rows = block.rows, n = block.lanes, pitch = block.pitch] {
        for (std::int64_t row = 0; row < rows; ++row)
          body(first + row * pitch, staged + row * n, n);
      });
    };
    for_rows([x = args.x,
              residual = inside ? args.residual : nullptr,
              factor = scale + block.lane,
              offset = shift + block.lane](std::int64_t from, float* strip, std::int64_t n) {
      const T* added = residual == nullptr ? nullptr : residual + from;
      normalize_strip(x + from, added, factor, offset, strip, n);
    });
    activation_slopes(args.activation, staged, block.rows * block.lanes);
    for_rows([dy = args.dy](std::int64_t from, float* strip, std::int64_t n) {
      LEARN_VECTORIZE
      for (std::int64_t j = 0; j < n; ++j) strip[j] *= as_float(dy[from + j]);
    });
  }
};

/// Adds g to sum[j] and g * (x - mean) to sum_x[j] over the rows of a block.
template <class Gradient>
void add_rows(const Block& block, Gradient g, const float* mean, float* sum, float* sum_x) {
  simd::run([=, rows = block.rows, lanes = block.lanes, pitch = block.pitch] {
    const auto pair = [=](std::int64_t row, std::int64_t j, float& total, float& total_x) {
      const std::int64_t i = row * pitch + j;
      const float value = g(i, row, j);
      total += value;
      total_x += value * (as_float(g.x[i]) - mean[j]);
    };
    std::int64_t row = 0;
    for (; row + kUnrolled <= rows; row += kUnrolled) {
      LEARN_VECTORIZE
      for (std::int64_t j = 0; j < lanes; ++j) {
        float total = 0;
        float total_x = 0;
        for (std::int64_t k = 0; k < kUnrolled; ++k) pair(row + k, j, total, total_x);
        sum[j] += total;
        sum_x[j] += total_x;
      }
    }
    for (; row < rows; ++row) {
      LEARN_VECTORIZE
      for (std::int64_t j = 0; j < lanes; ++j) pair(row, j, sum[j], sum_x[j]);
    }
  });
}

template <class T>
void put(T& out, float value) {
  out = from_float<T>(value);
}
template <class T>
void add_to(T& out, float value) {
  out = from_float<T>(as_float(out) + value);
}

/// Calls `body(element, row, lane)`, each relative to the block, for all its elements.
template <class Body>
void for_elements(const Block& block, Body body) {
  simd::run([=, rows = block.rows, lanes = block.lanes, pitch = block.pitch] {
    for (std::int64_t row = 0; row < rows; ++row) {
      LEARN_VECTORIZE
      for (std::int64_t j = 0; j < lanes; ++j) body(row * pitch + j, row, j);
    }
  });
}

/// Computes out (+)= value(element, row, lane) for a block.
template <class T, class Value>
void write_rows(GradMode mode, const Block& block, T* out, Value value) {
  if (mode == GradMode::overwrite)
    for_elements(block, [=](std::int64_t i, std::int64_t row, std::int64_t j) {
      put(out[i], value(i, row, j));
    });
  else
    for_elements(block, [=](std::int64_t i, std::int64_t row, std::int64_t j) {
      add_to(out[i], value(i, row, j));
    });
}

/// Computes the sums of g and g * (x - mean) for each chunk, with the tail as one more chunk.
template <class T>
void reduce(ThreadPool& threads,
            const InnerGradient<T>& gradient,
            const ChannelFolding& folding,
            const Lanes& lane) {
  const std::int64_t width = folding.width;
  const auto add = [&](std::int64_t first, std::int64_t rows, std::int64_t lanes, float* sum) {
    for_blocks(first, rows, lanes, [&](const Block& block) {
      gradient.visit(block, true, [&](const auto& g) {
        const std::int64_t j = block.lane;
        add_rows(block, g, lane.mean + j, sum + j, sum + width + j);
      });
    });
  };
  threads.for_chunks(
      folding.rows, folding.grain(), [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
        float* total = lane.sums + 4 * width * chunk;
        float* block = total + 2 * width;
        std::fill_n(total, 2 * width, 0.0F);
        for (std::int64_t row = begin; row < end; row += kBlock) {
          std::fill_n(block, 2 * width, 0.0F);
          add(row * width, std::min(kBlock, end - row), width, block);
          simd::run([=] {
            LEARN_VECTORIZE
            for (std::int64_t j = 0; j < 2 * width; ++j) total[j] += block[j];
          });
        }
      });
  float* tail = lane.sums + 4 * width * folding.chunks();
  std::fill_n(tail, 2 * width, 0.0F);
  if (folding.tail > 0) add(folding.rows * width, 1, folding.tail, tail);
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

/// Writes the requested ones of dx and dresidual of one block, dx first: they may be the same
/// memory.
template <class T>
void write_block(const InnerGradient<T>& gradient, const Lanes& lane, const Block& block) {
  const BatchNormBackwardArgs<T>& args = gradient.args;
  T* const out = args.dx == nullptr ? nullptr : args.dx + block.first;
  T* const residual = args.dresidual == nullptr ? nullptr : args.dresidual + block.first;
  const bool residual_is_inner = residual != nullptr && gradient.inside;
  // Loops for direct gradients exist for what occurs in networks: dx of batch statistics, and, if
  // the residual is inside, both results.
  const bool common =
      !gradient.inside || (residual != nullptr && args.dx_mode == GradMode::overwrite);
  const bool direct = out != nullptr && args.batch_statistics && common;
  gradient.visit(block, direct, [&]<class Gradient>(const Gradient& g) {
    const auto with_statistics =
        [=, factor = lane.factor + block.lane, constant = lane.constant + block.lane](
            float inner, std::int64_t i, std::int64_t j) {
          return g.scale[j] * inner + (factor[j] * as_float(g.x[i]) + constant[j]);
        };
    const auto dx = [=](std::int64_t i, std::int64_t row, std::int64_t j) {
      return with_statistics(g(i, row, j), i, j);
    };
    if constexpr (!Gradient::kDirect) {
      // Without batch statistics, y depends on x only through bn's scale. Adding 0 * x would give
      // NaN for an infinite x.
      if (out != nullptr && args.batch_statistics)
        write_rows(args.dx_mode, block, out, dx);
      else if (out != nullptr)
        write_rows(args.dx_mode, block, out, [=](std::int64_t i, std::int64_t row, std::int64_t j) {
          return g.scale[j] * g(i, row, j);
        });
      if (residual_is_inner) write_rows(args.dresidual_mode, block, residual, g);
    } else if constexpr (Gradient::kWithResidual) {
      const auto write_both = [&](auto put_residual) {
        for_elements(block, [=](std::int64_t i, std::int64_t row, std::int64_t j) {
          const float inner = g(i, row, j);
          put(out[i], with_statistics(inner, i, j));
          put_residual(residual[i], inner);
        });
      };
      if (args.dresidual_mode == GradMode::overwrite)
        write_both([](T& to, float value) { put(to, value); });
      else
        write_both([](T& to, float value) { add_to(to, value); });
    } else {
      write_rows(args.dx_mode, block, out, dx);
    }
  });
  if (residual != nullptr && !residual_is_inner)
    write_rows(args.dresidual_mode,
               block,
               residual,
               [dy = args.dy + block.first](std::int64_t i, std::int64_t, std::int64_t) {
                 return as_float(dy[i]);
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

  // The identity's gradient is dy wherever the residual was added.
  const bool inside = args.residual != nullptr && args.residual_before_activation &&
                      args.activation.name != ActivationKind::Name::identity;
  const InnerGradient<T> gradient{args, lane.scale, lane.shift, inside};
  if (with_sums) {
    reduce(threads, gradient, folding, lane);
    simd::parallel_for(threads, 2 * folding.width, 512, [=](std::int64_t begin, std::int64_t end) {
      join_chunks(folding, lane, begin, end);
    });
  }
  finish(folding, lane);
  if (args.dx != nullptr || args.dresidual != nullptr)
    folding.for_pieces(threads, [&](std::int64_t first, std::int64_t rows, std::int64_t lanes) {
      for_blocks(
          first, rows, lanes, [&](const Block& block) { write_block(gradient, lane, block); });
    });
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
