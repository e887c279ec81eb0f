#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/norm/layer_norm_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>

namespace learn::cpu {

using kernels::LayerNormArgs;
using kernels::LayerNormBackwardArgs;

namespace {

/// Rows whose gradients of the weights are added in f32 before their sum is added to the chunk's,
/// which limits rounding errors.
constexpr std::int64_t kBlock = 32;

/// Returns the minimum number of rows per thread: about 16384 elements.
[[nodiscard]] std::int64_t grain_for(std::int64_t columns) {
  return std::max(kBlock, 16384 / columns / kBlock * kBlock);
}

/// Sums of one chunk of rows, in the workspace.
struct ChunkSums {
  float *dweight, *dbias;              ///< of the chunk
  float *block_dweight, *block_dbias;  ///< of the current block
  ChunkSums(float* workspace, std::int64_t columns, std::int64_t chunk)
      : dweight(workspace + 4 * columns * chunk),
        dbias(dweight + columns),
        block_dweight(dweight + 2 * columns),
        block_dbias(dweight + 3 * columns) {}
};

/// Computes dx of rows [begin, end), unless that is null, and adds to the sums of their block.
template <class T, bool accumulate>
void backward_rows(const LayerNormBackwardArgs<T>& args,
                   std::int64_t begin,
                   std::int64_t end,
                   const ChunkSums& sums) {
  simd::run([=,
             n = args.columns,
             centered = args.centered,
             xs = args.x,
             dys = args.dy,
             weight = args.weight,
             means = args.mean,
             rstds = args.rstd,
             dxs = args.dx,
             dweight = sums.block_dweight,
             dbias = sums.block_dbias] {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* x = xs + row * n;
      const T* dy = dys + row * n;
      const float mean = means[row];
      const float rstd = rstds[row];
      float sum = 0;
      float sum_x = 0;
      LEARN_VECTORIZE_SUMS(sum, sum_x)
      for (std::int64_t i = 0; i < n; ++i) {
        const float xhat = (as_float(x[i]) - mean) * rstd;
        const float g = as_float(dy[i]);
        dweight[i] += g * xhat;
        dbias[i] += g;
        sum += g * weight[i];
        sum_x += g * weight[i] * xhat;
      }
      if (dxs == nullptr) continue;
      T* dx = dxs + row * n;
      const float mean_g = centered ? sum / static_cast<float>(n) : 0;
      const float mean_g_xhat = sum_x / static_cast<float>(n);
      LEARN_VECTORIZE
      for (std::int64_t i = 0; i < n; ++i) {
        const float xhat = (as_float(x[i]) - mean) * rstd;
        const float value = rstd * (as_float(dy[i]) * weight[i] - mean_g - xhat * mean_g_xhat);
        dx[i] = from_float<T>(accumulate ? as_float(dx[i]) + value : value);
      }
    }
  });
}

/// Adds up the sums of the chunks, which are `pitch` floats apart.
void join_chunks(const float* sums,
                 std::int64_t pitch,
                 std::int64_t chunks,
                 std::int64_t columns,
                 float* out,
                 GradMode mode) {
  if (out == nullptr) return;
  for (std::int64_t i = 0; i < columns; ++i) {
    double total = mode == GradMode::accumulate ? static_cast<double>(out[i]) : 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
      total += static_cast<double>(sums[chunk * pitch + i]);
    out[i] = static_cast<float>(total);
  }
}

}  // namespace

template <class T>
void layer_norm_forward(const Exec& exec, const LayerNormArgs<T>& args) {
  simd::parallel_for(
      exec.threads,
      args.rows,
      grain_for(args.columns),
      [n = args.columns,
       eps = args.eps,
       centered = args.centered,
       xs = args.x,
       weight = args.weight,
       bias = args.bias,
       ys = args.y,
       means = args.mean,
       rstds = args.rstd](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const T* x = xs + row * n;
          T* y = ys + row * n;
          float mean = 0;
          if (centered) {
            float sum = 0;
            LEARN_VECTORIZE_SUMS(sum)
            for (std::int64_t i = 0; i < n; ++i) sum += as_float(x[i]);
            mean = sum / static_cast<float>(n);
          }
          float squares = 0;
          LEARN_VECTORIZE_SUMS(squares)
          for (std::int64_t i = 0; i < n; ++i) {
            const float off = as_float(x[i]) - mean;
            squares += off * off;
          }
          const float rstd = 1 / std::sqrt(squares / static_cast<float>(n) + eps);
          const auto write = [=](auto bias_at) {
            LEARN_VECTORIZE
            for (std::int64_t i = 0; i < n; ++i)
              y[i] = from_float<T>((as_float(x[i]) - mean) * rstd * weight[i] + bias_at(i));
          };
          if (centered)
            write([=](std::int64_t i) { return bias[i]; });
          else
            write([](std::int64_t) { return 0.0F; });
          means[row] = mean;
          rstds[row] = rstd;
        }
      });
}

template <class T>
void layer_norm_backward(const Exec& exec, const LayerNormBackwardArgs<T>& args) {
  const std::int64_t columns = args.columns;
  const std::int64_t grain = grain_for(columns);
  const std::int64_t chunks = ThreadPool::chunk_count(args.rows, grain);
  const FloatWorkspace workspace(exec.workspace, std::max<std::int64_t>(1, 4 * columns * chunks));
  exec.threads.for_chunks(
      args.rows, grain, [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
        const ChunkSums sums(workspace.data(), columns, chunk);
        std::fill_n(sums.dweight, 2 * columns, 0.0F);
        for (std::int64_t row = begin; row < end; row += kBlock) {
          std::fill_n(sums.block_dweight, 2 * columns, 0.0F);
          const std::int64_t last = std::min(end, row + kBlock);
          if (args.dx_mode == GradMode::accumulate)
            backward_rows<T, true>(args, row, last, sums);
          else
            backward_rows<T, false>(args, row, last, sums);
          simd::run([=] {
            LEARN_VECTORIZE
            for (std::int64_t i = 0; i < 2 * columns; ++i) sums.dweight[i] += sums.block_dweight[i];
          });
        }
      });
  const float* const sums = workspace.data();
  join_chunks(sums, 4 * columns, chunks, columns, args.dweight, args.dweight_mode);
  join_chunks(sums + columns, 4 * columns, chunks, columns, args.dbias, args.dbias_mode);
}

#define LEARN_INSTANTIATE(T)                                              \
  template void layer_norm_forward(const Exec&, const LayerNormArgs<T>&); \
  template void layer_norm_backward(const Exec&, const LayerNormBackwardArgs<T>&);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
