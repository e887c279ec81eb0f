#pragma once
#include "data/dataset.h"
#include "framework/interfaces/batch.h"
#include "framework/runtime/context.h"

#include <array>

namespace learn::data {

/// (value / 255 - mean) / std per channel.
struct Normalization {
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> std{1, 1, 1};
};

/// CIFAR-10's, as fastai has them.
inline constexpr Normalization kCifarStats{{0.491F, 0.482F, 0.447F}, {0.247F, 0.243F, 0.261F}};

/// Mean and standard deviation of each channel over all pixels of a (training) set.
[[nodiscard]] Normalization measure(const Dataset& dataset);

/// The images of a batch as they were before their normalisation, to be looked at: (N,H,W,3) f32 on
/// the host, 0 black and 1 white, without padding. x * std + mean in f32, so that they differ from
/// the pixels by the rounding of x alone: in f32 by less than 1e-6, in f16 by less than a quarter
/// of one of the 255 steps, in bf16 by less than 1. Waits for the device. Throws ShapeError for
/// what is no batch of images of three colours, DTypeError unless they are f32, f16 or bf16.
[[nodiscard]] Tensor denormalise(Context& ctx,
                                 const Batch& batch,
                                 const Normalization& normalization);

}  // namespace learn::data
