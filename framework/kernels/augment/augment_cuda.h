#pragma once
#include "framework/kernels/augment/augment_plan.h"
#include "framework/runtime/cuda/fault.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>

/// The CUDA twin of augmentation. Device pointers; enqueues only.
namespace learn::cuda {

struct AugmentBatch {
  const std::uint8_t* images;  ///< (samples, height, width, 3)
  const std::int64_t* labels;  ///< (samples)
  std::int64_t samples;
  const std::int64_t* index;  ///< (batch)
  std::int64_t batch;
  std::uint64_t seed, epoch;
};

/// x (batch, out_height, out_width, channels) with 3, 4 or 8 channels, y (batch). An index out of
/// range is noted in `fault`; image 0 stands in its place.
template <class T>
void augment(Stream stream,
             const AugmentPlan& plan,
             const AugmentBatch& batch,
             std::int64_t channels,
             T* x,
             std::int64_t* y,
             Fault* fault);

}  // namespace learn::cuda
