#pragma once
#include "framework/backend/cpu/channel_folding.h"

namespace learn::backend::cpu {

/// bn(x) = x * scale + shift, per lane. The shift is made in f64 from the rounded scale, so that it
/// cancels a large mean as exactly as f32 allows. Forward and backward share it: they must agree on
/// which side of a kink each value lies.
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

}  // namespace learn::backend::cpu
