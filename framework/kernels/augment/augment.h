#pragma once
#include "framework/kernels/augment/augment_plan.h"
#include "framework/runtime/context.h"

#include <cstdint>

namespace learn::kernels {

/// A data set in the memory of the context's device.
struct AugmentSource {
  Tensor images;   ///< (M,H,W,C) u8
  Tensor targets;  ///< (M) i64 classes, or (M,K) f32
  /// How many draws of a sample an epoch may contain. Index i + M * n is draw n of sample i and has
  /// its own random numbers.
  std::int64_t repeats = 1;
};

/// Augments the images that `index` (N) i64 selects and writes them to x (N,out_height,out_width,C
/// or more), f32, f16 or bf16, normalized as (value / 255 - mean) / std, with zeros in the extra
/// channels. Copies their targets to y. Every draw depends only on (seed, epoch, index), and the
/// result is identical to data::Pipeline's, bit for bit. Throws ShapeError, DTypeError,
/// DeviceError, and DataError for an index out of range. On a CUDA device the DataError is thrown
/// at the next synchronization.
void augment(Context& ctx,
             const AugmentPlan& plan,
             const AugmentSource& source,
             const Tensor& index,
             std::uint64_t seed,
             std::uint64_t epoch,
             Tensor& x,
             Tensor& y);

}  // namespace learn::kernels
