#pragma once
#include "data/dataset.h"
#include "framework/interfaces/batch.h"
#include "framework/runtime/context.h"

#include <vector>

namespace learn::data {

/// (value / 255 - mean) / std per channel; of floats (value - mean) / std.
struct Normalization {
  std::vector<float> mean;  ///< one for each channel; none: 0
  std::vector<float> std;   ///< as many; none: 1
  [[nodiscard]] bool operator==(const Normalization&) const = default;
};

/// With a mean and a deviation for each of `channels`. Throws UsageError for another number of
/// them, for a deviation that is not above 0, and for what is not finite.
[[nodiscard]] Normalization for_channels(const Normalization& normalization, std::int64_t channels);

/// CIFAR-10's, as fastai has them.
inline const Normalization kCifarStats{{0.491F, 0.482F, 0.447F}, {0.247F, 0.243F, 0.261F}};

/// Mean and standard deviation of each channel over all pixels of a (training) set, or of each
/// feature; of images that are not in memory over kMeasured of them, always the same.
[[nodiscard]] Normalization measure(const Dataset& dataset);
inline constexpr std::int64_t kMeasured = 1024;

/// The images of a batch before normalisation, for display: (N,H,W,C) f32 on the host, 0 black and
/// 1 white, without padding. x * std + mean in f32, so that they differ from the pixels by the
/// rounding of x alone: in f32 by less than 1e-6, in f16 by less than a quarter of one of the 255
/// steps, in bf16 by less than 1. Waits for the device. Throws ShapeError for what is no batch of
/// images, UsageError for a normalization of other channels, DTypeError unless they are f32, f16 or
/// bf16.
[[nodiscard]] Tensor denormalise(Context& ctx,
                                 const Batch& batch,
                                 const Normalization& normalization);

}  // namespace learn::data
