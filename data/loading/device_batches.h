#pragma once
#include "data/loading/loader.h"
#include "data/loading/sampling.h"
#include "framework/kernels/augment/augment.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace learn::data {

/// Batches that a CUDA device makes from a data set in its memory, with one launch per batch and no
/// transfers. Bit-identical to the batches of the host's workers.
class DeviceBatches {
 public:
  /// Returns null if this is not possible: on a CPU context, if the options disable it, for
  /// transforms that only the host can run, for samples that are not u8 images in memory, and if
  /// the device has no room for the data set, which is logged.
  [[nodiscard]] static std::unique_ptr<DeviceBatches> make(Context& ctx,
                                                           const Dataset& dataset,
                                                           const LoaderOptions& options,
                                                           const PassOrder& order);

  /// Sets the draws of the starting pass, in order. Waits until the device has them.
  void begin(const std::vector<std::int64_t>& draws);
  /// Makes samples [first, first + count) of that order; `batch.x` and `batch.y` are views of
  /// memory that is reused from batch to batch.
  void fill(std::int64_t first, std::int64_t count, std::int64_t epoch, Batch& batch);

 private:
  DeviceBatches(Context& ctx,
                const Dataset& dataset,
                const LoaderOptions& options,
                const PassOrder& order,
                const AugmentPlan& plan);

  Context& ctx_;
  std::uint64_t seed_;
  AugmentPlan plan_;
  kernels::AugmentSource source_;
  std::int64_t padding_;  // channels of x after the image's channels
  Tensor order_, x_, y_;
};

}  // namespace learn::data
