// y = act((x - mean) * rstd * weight + bias [+ residual]) [+ residual] in one launch. Reads x [and
// the residual], writes y. A thread keeps its channels' coefficients in registers and walks down
// the rows.
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/activation_functions.cuh"
#include "framework/kernels/common/cuda/tiling.cuh"
#include "framework/kernels/norm/batch_norm_channels.cuh"
#include "framework/kernels/norm/batch_norm_kernels.h"

namespace learn::cuda {

using kernels::BatchNormApplyArgs;

namespace {

using device::Columns;
using device::ColumnThread;

template <int count, bool with_residual, class T, class Act>
__global__ void apply_kernel(Columns c, BatchNormApplyArgs<T> args, Act act) {
  const ColumnThread me(c);
  if (!me.inside) return;
  const BatchNormChannels<count> channel(me.pack, args.mean, args.rstd, args.weight, args.bias);
  for (std::int64_t row = me.begin; row < me.end; row += me.step) {
    const std::int64_t at = row * c.packs + me.pack;
    auto pack = device::load_pack<count>(args.x, at);
    device::Pack<T, count> residual;
    if constexpr (with_residual) residual = device::load_pack<count>(args.residual, at);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      float value = channel.normalized(device::load(pack.v[k]), k);
      if constexpr (with_residual) {
        const float r = device::load(residual.v[k]);
        const bool first = args.residual_before_activation;
        value = act.value(value + (first ? r : 0.0F)) + (first ? 0.0F : r);
      } else {
        value = act.value(value);
      }
      pack.v[k] = device::store<T>(value);
    }
    device::store_pack(args.y, at, pack);
  }
}

}  // namespace

template <class T>
void batch_norm_apply(const Exec& exec, const BatchNormApplyArgs<T>& args) {
  if (args.rows == 0) return;
  with_activation(args.activation, [&]<class Act>(Act act) {
    with_pack<device::kPack<T>>(
        {args.channels},
        [&]<int count>() {
          const Columns c = tiling_for_writing(args.rows, args.channels, count);
          const auto kernel = args.residual != nullptr ? apply_kernel<count, true, T, Act>
                                                       : apply_kernel<count, false, T, Act>;
          launch("batch_norm_apply", kernel, grid_of(c), exec, c, args, act);
        },
        args.x,
        args.residual,
        args.y,
        args.weight,
        args.bias,
        args.mean,
        args.rstd);
  });
}

template void batch_norm_apply(const Exec&, const BatchNormApplyArgs<float>&);
template void batch_norm_apply(const Exec&, const BatchNormApplyArgs<Half>&);
template void batch_norm_apply(const Exec&, const BatchNormApplyArgs<BFloat16>&);

}  // namespace learn::cuda
