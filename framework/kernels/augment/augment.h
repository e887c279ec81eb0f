#pragma once
#include "framework/kernels/augment/augment_plan.h"
#include "framework/runtime/context.h"

#include <cstdint>

namespace learn::kernels {

/// A data set in the memory of the context's device.
struct AugmentSource {
  Tensor images;   ///< (M,H,W,C) u8
  Tensor targets;  ///< (M) i64 classes, or (M,K) f32
  /// Maximum number of draws of a sample in a pass. Index i + M * n is draw n of sample i; each
  /// draw has separate random numbers.
  std::int64_t repeats = 1;
};

/// x (N,out_height,out_width,C or more), f32, f16 or bf16, = the images at `index` (N) i64,
/// augmented and normalised as (value / 255 - mean) / std, with zeros in additional channels; y =
/// their targets. Every draw is a function of (seed, epoch, index) alone, and every bit is that of
/// data::Pipeline. Throws ShapeError, DTypeError, DeviceError, and DataError for an index that is
/// out of range: on a CUDA device at the next synchronisation.
void augment(Context& ctx,
             const AugmentPlan& plan,
             const AugmentSource& source,
             const Tensor& index,
             std::uint64_t seed,
             std::uint64_t epoch,
             Tensor& x,
             Tensor& y);

}  // namespace learn::kernels
