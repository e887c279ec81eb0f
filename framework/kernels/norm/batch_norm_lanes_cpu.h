#pragma once
#include "framework/kernels/common/cpu/channel_folding.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/tensor/convert.h"

namespace learn::cpu {

/// Computes scale and shift per lane: bn(x) = x * scale + shift. The shift is computed in f64 from
/// the rounded scale, so that it cancels a large mean as exactly as f32 allows. Forward and
/// backward share it because they must agree on which side of a kink each value is.
template <class Args>
void batch_norm_affine(const Args& args,
                       const ChannelFolding& folding,
                       float* scale,
                       float* shift) {
  for (std::int64_t c = 0; c < folding.channels; ++c) {
    scale[c] = args.weight[c] * args.rstd[c];
    shift[c] =
        static_cast<float>(static_cast<double>(args.bias[c]) -
                           static_cast<double>(args.mean[c]) * static_cast<double>(scale[c]));
  }
  folding.repeat(scale);
  folding.repeat(shift);
}

/// Computes strip += residual. Call it, like the next function, inside `simd::run`.
template <class T>
void add_residual(const T* residual, float* strip, std::int64_t n) {
  LEARN_VECTORIZE
  for (std::int64_t j = 0; j < n; ++j) strip[j] += as_float(residual[j]);
}

/// Computes strip = bn(x) [+ residual] for `n` lanes of one row; `residual` may be null.
template <class T>
void normalize_strip(const T* x,
                     const T* residual,
                     const float* scale,
                     const float* shift,
                     float* strip,
                     std::int64_t n) {
  LEARN_VECTORIZE
  for (std::int64_t j = 0; j < n; ++j) strip[j] = as_float(x[j]) * scale[j] + shift[j];
  if (residual != nullptr) add_residual(residual, strip, n);
}

/// Returns the floats of scratch memory for any of the three passes.
[[nodiscard]] inline std::int64_t batch_norm_workspace(std::int64_t rows, std::int64_t channels) {
  const ChannelFolding folding(rows, channels);
  constexpr std::int64_t kPerChunk = 4;  // the statistics need the most; see ChunkMoments
  constexpr std::int64_t kShared = 8;
  return (kPerChunk * (folding.chunks() + 1) + kShared) * folding.width;
}

}  // namespace learn::cpu
