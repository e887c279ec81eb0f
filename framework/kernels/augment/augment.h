#pragma once
#include "framework/kernels/augment/augment_plan.h"
#include "framework/runtime/context.h"

#include <cstdint>

namespace learn::kernels {

/// A data set in the memory of the context's device.
struct AugmentSource {
  Tensor images;  ///< (M,H,W,3) u8
  Tensor labels;  ///< (M) i64
};

/// x (N,out_height,out_width,C), f32, f16 or bf16, C 3, 4 or 8, = the images `index` (N) i64 names,
/// augmented and normalised as (value / 255 - mean) / std, with zeros in channels above 3; y (N)
/// i64 = their labels. Every draw is a function of (seed, epoch, sample) alone, and every bit is
/// that of data::Pipeline. Throws ShapeError, DTypeError, DeviceError, and DataError for an index
/// that is out of range: on a CUDA device at the next synchronisation.
void augment(Context& ctx,
             const AugmentPlan& plan,
             const AugmentSource& source,
             const Tensor& index,
             std::uint64_t seed,
             std::uint64_t epoch,
             Tensor& x,
             Tensor& y);

}  // namespace learn::kernels
