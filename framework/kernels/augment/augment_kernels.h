#pragma once
#include "framework/kernels/augment/augment_plan.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn {
namespace kernels {

/// Which images of which data set become a batch.
struct AugmentBatch {
  const std::uint8_t* images;  ///< (samples, height, width, 3)
  const std::int64_t* labels;  ///< (samples)
  std::int64_t samples;
  const std::int64_t* index;  ///< (batch)
  std::int64_t batch;
  std::uint64_t seed, epoch;
};

}  // namespace kernels

namespace cuda {

/// x (batch, out_height, out_width, channels) with 3, 4 or 8 channels, y (batch). An index out of
/// range is noted as a fault; image 0 stands in its place.
template <class T>
void augment(const Exec& exec,
             const AugmentPlan& plan,
             const kernels::AugmentBatch& batch,
             std::int64_t channels,
             T* x,
             std::int64_t* y);

}  // namespace cuda
}  // namespace learn
