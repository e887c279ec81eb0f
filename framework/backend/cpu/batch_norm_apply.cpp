#include "framework/backend/cpu/activation_functions.h"
#include "framework/backend/cpu/batch_norm.h"
#include "framework/backend/cpu/batch_norm_lanes.h"

namespace learn::backend::cpu {
namespace {

template <class T, class Value>
void apply_row(const BatchNormApplyArgs<T>& args,
               Value value,
               const float* __restrict scale,
               const float* __restrict shift,
               std::int64_t first,
               std::int64_t lanes) {
  const T* __restrict x = args.x + first;
  T* __restrict y = args.y + first;
  if (args.residual == nullptr) {
    for (std::int64_t j = 0; j < lanes; ++j)
      y[j] = from_float<T>(value(as_float(x[j]) * scale[j] + shift[j]));
    return;
  }
  const T* __restrict residual = args.residual + first;
  if (args.residual_before_activation)
    for (std::int64_t j = 0; j < lanes; ++j)
      y[j] = from_float<T>(value(as_float(x[j]) * scale[j] + shift[j] + as_float(residual[j])));
  else
    for (std::int64_t j = 0; j < lanes; ++j)
      y[j] = from_float<T>(value(as_float(x[j]) * scale[j] + shift[j]) + as_float(residual[j]));
}

}  // namespace

template <class T>
void batch_norm_apply(ThreadPool& threads, const BatchNormApplyArgs<T>& args, float* workspace) {
  const ChannelFolding folding(args.rows, args.channels);
  float* scale = workspace;
  float* shift = workspace + folding.width;
  batch_norm_affine(args, folding, scale, shift);
  with_activation(args.activation, [&](auto value, auto) {
    folding.for_pieces(threads, [&](std::int64_t first, std::int64_t rows, std::int64_t lanes) {
      for (std::int64_t row = 0; row < rows; ++row)
        apply_row(args, value, scale, shift, first + row * lanes, lanes);
    });
  });
}

template void batch_norm_apply(ThreadPool&, const BatchNormApplyArgs<float>&, float*);
template void batch_norm_apply(ThreadPool&, const BatchNormApplyArgs<Half>&, float*);
template void batch_norm_apply(ThreadPool&, const BatchNormApplyArgs<BFloat16>&, float*);

}  // namespace learn::backend::cpu
