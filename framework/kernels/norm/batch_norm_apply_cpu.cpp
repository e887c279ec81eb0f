#include "framework/kernels/common/cpu/activation_functions.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/norm/batch_norm_kernels.h"
#include "framework/kernels/norm/batch_norm_lanes_cpu.h"

namespace learn::cpu {

using kernels::BatchNormApplyArgs;

namespace {

/// Computes y = combine(bn(x), residual) for rows of `lanes` elements. If `combine` ignores the
/// residual, `residual` may be x.
template <class T, class Combine>
void apply_rows(const T* x,
                const T* residual,
                T* y,
                const float* scale,
                const float* shift,
                std::int64_t rows,
                std::int64_t lanes,
                Combine combine) {
  simd::run([=] {
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t first = row * lanes;
      LEARN_VECTORIZE
      for (std::int64_t j = 0; j < lanes; ++j)
        y[first + j] = from_float<T>(
            combine(as_float(x[first + j]) * scale[j] + shift[j], as_float(residual[first + j])));
    }
  });
}

/// Applies a smooth activation, strip by strip.
template <class T>
void apply_smooth(const BatchNormApplyArgs<T>& args,
                  std::int64_t first,
                  std::int64_t rows,
                  std::int64_t lanes,
                  const float* scale,
                  const float* shift) {
  const T* before = args.residual_before_activation ? args.residual : nullptr;
  const T* after = args.residual_before_activation ? nullptr : args.residual;
  simd::run([=, x = args.x, y = args.y, kind = args.activation] {
    for (std::int64_t row = 0; row < rows; ++row)
      for_strips(lanes, [=](std::int64_t lane, std::int64_t n) {
        float strip[kStrip];
        const std::int64_t begin = first + row * lanes + lane;
        const T* residual = before == nullptr ? nullptr : before + begin;
        normalize_strip(x + begin, residual, scale + lane, shift + lane, strip, n);
        activation_values(kind, strip, n);
        if (after != nullptr) add_residual(after + begin, strip, n);
        LEARN_VECTORIZE
        for (std::int64_t j = 0; j < n; ++j) y[begin + j] = from_float<T>(strip[j]);
      });
  });
}

}  // namespace

template <class T>
void batch_norm_apply(const Exec& exec, const BatchNormApplyArgs<T>& args) {
  ThreadPool& threads = exec.threads;
  const FloatWorkspace memory(exec.workspace, batch_norm_workspace(args.rows, args.channels));
  float* const workspace = memory.data();
  const ChannelFolding folding(args.rows, args.channels);
  float* scale = workspace;
  float* shift = workspace + folding.width;
  batch_norm_affine(args, folding, scale, shift);
  const auto run = [&](auto combine) {
    const T* residual = args.residual == nullptr ? args.x : args.residual;
    folding.for_pieces(threads, [=](std::int64_t first, std::int64_t rows, std::int64_t lanes) {
      apply_rows(
          args.x + first, residual + first, args.y + first, scale, shift, rows, lanes, combine);
    });
  };
  if (!is_brief(args.activation))
    return folding.for_pieces(threads,
                              [=](std::int64_t first, std::int64_t rows, std::int64_t lanes) {
                                apply_smooth(args, first, rows, lanes, scale, shift);
                              });
  with_value(args.activation, [&](auto value) {
    if (args.residual == nullptr)
      run([=](float normalized, float) { return value(normalized); });
    else if (args.residual_before_activation)
      run([=](float normalized, float residual) { return value(normalized + residual); });
    else
      run([=](float normalized, float residual) { return value(normalized) + residual; });
  });
}

template void batch_norm_apply(const Exec&, const BatchNormApplyArgs<float>&);
template void batch_norm_apply(const Exec&, const BatchNormApplyArgs<Half>&);
template void batch_norm_apply(const Exec&, const BatchNormApplyArgs<BFloat16>&);

}  // namespace learn::cpu
