#pragma once
#include "framework/kernels/augment/augment_plan.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn {
namespace kernels {

/// Selects the images of a data set that form a batch.
struct AugmentBatch {
  const std::uint8_t* images;  ///< (samples, height, width, channels of the plan)
  const std::uint32_t*
      targets;  ///< (samples, target_words): two words for a class, one for a float
  std::int64_t target_words;
  std::int64_t samples;
  std::int64_t draws;         ///< exclusive upper bound of `index`
  const std::int64_t* index;  ///< (batch): draws; a draw's sample is the draw modulo `samples`
  std::int64_t batch;
  std::uint64_t seed, epoch;
};

}  // namespace kernels

namespace cuda {

/// Writes x (batch, out_height, out_width, channels) and y (batch, target_words). An index out of
/// range is recorded as a fault, and image 0 is used instead.
template <class T>
void augment(const Exec& exec,
             const AugmentPlan& plan,
             const kernels::AugmentBatch& batch,
             std::int64_t channels,
             T* x,
             std::uint32_t* y);

}  // namespace cuda
}  // namespace learn
