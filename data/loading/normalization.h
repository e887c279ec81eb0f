#pragma once
#include "data/dataset.h"
#include "framework/interfaces/batch.h"
#include "framework/runtime/context.h"

#include <vector>

namespace learn::data {

/// Normalizes to (value / 255 - mean) / std per channel, for floats to (value - mean) / std.
struct Normalization {
  std::vector<float> mean;  ///< one for each channel; empty: 0
  std::vector<float> std;   ///< one for each channel; empty: 1
  [[nodiscard]] bool operator==(const Normalization&) const = default;
};

/// Returns a mean and a deviation for each of `channels`. Throws UsageError for another number of
/// them, for a deviation that is not above 0, and for values that are not finite.
[[nodiscard]] Normalization for_channels(const Normalization& normalization, std::int64_t channels);

/// The values for CIFAR-10, from fastai.
inline const Normalization kCifarStats{{0.491F, 0.482F, 0.447F}, {0.247F, 0.243F, 0.261F}};

/// Returns the mean and standard deviation of each channel over all pixels of a (training) set, or
/// of each feature. For images that are not in memory it uses kMeasured of them, always the same
/// ones.
[[nodiscard]] Normalization measure(const Dataset& dataset);
inline constexpr std::int64_t kMeasured = 1024;

/// Undoes the normalization of a batch of images for display: (N,H,W,C) f32 on the host, 0 black
/// and 1 white, without padding. Computes x * std + mean in f32, so the result differs from the
/// pixels only by the rounding of x: in f32 by less than 1e-6, in f16 by less than a quarter of one
/// of the 255 steps, in bf16 by less than 1. Waits for the device. Throws ShapeError unless it is a
/// batch of images, UsageError for a normalization of other channels, DTypeError unless they are
/// f32, f16 or bf16.
[[nodiscard]] Tensor denormalize(Context& ctx,
                                 const Batch& batch,
                                 const Normalization& normalization);

}  // namespace learn::data
