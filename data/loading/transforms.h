#pragma once
#include "data/images/image.h"
#include "data/loading/interval.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// Steps of augmentation. Every draw is a function of (seed, epoch, sample, position in the list)
/// alone, and does not depend on threads, batches, order or device. Numbers are uniform in their
/// ranges.
namespace learn::data {

/// Mirrors left and right with probability `p`.
struct FlipLr {
  float p = 0.5F;
  /// Draws once, for the first epoch; from then on an image is mirrored in every second epoch, so
  /// that two successive epochs show both forms (Jordan 2024, "94% on CIFAR-10 in 3.29 seconds on a
  /// single GPU").
  bool alternate = false;
};

enum class PadMode : std::uint8_t {
  reflect,  ///< mirrors at the border pixel, which is not repeated: 2 1 | 0 1 2
  zero,     ///< black, before normalization
};

/// Adds `pixels` on each side. Reflection needs images larger than `pixels`.
struct Pad {
  std::int64_t pixels = 4;
  PadMode mode = PadMode::reflect;
};

/// Crops a size x size window at a uniformly drawn position; 0: the image's original size.
struct RandomCrop {
  std::int64_t size = 0;
};

/// Crops the centre; 0: the image's original size.
struct CenterCrop {
  std::int64_t size = 0;
};

/// Sets `holes` squares of length x length to the mean colour (0 after normalization). The centres
/// are drawn uniformly over the image, and the squares are clipped at its border. DeVries and
/// Taylor 2017.
struct Cutout {
  std::int64_t length = 8;
  std::int64_t holes = 1;
};

/// Sets a rectangle to the mean colour (0 after normalization), or fills it with normal noise of
/// mean 0 and deviation 1. Tries ten times to draw one that is smaller than the image in both
/// directions. Zhong et al. 2020, "Random erasing data augmentation"; torchvision's RandomErasing.
struct Erase {
  float p = 0.5F;
  Interval area{0.02F, 0.33F};  ///< share of the image
  Interval ratio{0.3F, 3.3F};   ///< height / width; its logarithm is uniform
  bool noise = false;
};

/// Crops a part and scales it to the image's original size: of the decoded file if it is the first
/// step and images are read when they are needed. Ten draws, then the largest centred part;
/// torchvision's RandomResizedCrop.
struct ResizedCrop {
  Interval scale{0.08F, 1};           ///< share of the area
  Interval ratio{0.75F, 1.3333334F};  ///< width / height; its logarithm is uniform
};

enum class Interpolation : std::uint8_t { nearest, bilinear };

/// Turns, shifts, scales and shears around the centre with probability `p`; black comes in from
/// outside. torchvision's RandomAffine.
struct Affine {
  float degrees = 0;    ///< turned by up to this angle in both directions
  float translate = 0;  ///< shifted by up to this share of the side, by whole pixels
  Interval scale{1, 1};
  float shear = 0;  ///< degrees, in both directions
  Interpolation interpolation = Interpolation::nearest;
  float p = 1;
};

/// Changes brightness, contrast and saturation by factors from 1 - x to 1 + x, and shifts the hue
/// by up to `hue` turns, in a drawn order, with probability `p`. torchvision's ColorJitter.
struct Jitter {
  float brightness = 0;
  float contrast = 0;
  float saturation = 0;
  float hue = 0;  ///< at most 0.5
  float p = 1;
};

/// Changes of the pixels with probability `p`, as by torchvision's transforms of these names. A
/// grey image has no colours to lose.
struct Gray {
  float p = 0.1F;
};
struct Invert {
  float p = 0.5F;
};
/// Keeps the highest bits of each value.
struct Posterize {
  std::int64_t bits = 4;
  float p = 0.5F;
};
/// Inverts values from the threshold on.
struct Solarize {
  std::int64_t threshold = 128;
  float p = 0.5F;
};
struct Equalize {
  float p = 0.5F;
};
struct Autocontrast {
  float p = 0.5F;
};
/// 0 blurs, 1 changes nothing, 2 sharpens.
struct Sharpness {
  Interval factor{2, 2};
  float p = 0.5F;
};
/// Blurs with a normal distribution, mirrored at the border.
struct Blur {
  std::int64_t size = 5;  ///< of the window, odd
  Interval sigma{0.1F, 2};
  float p = 0.5F;
};

/// Draws `ops` operations of 14, each at strength `magnitude` of 30 (policies.h).
struct RandAugment {
  std::int64_t ops = 2;
  std::int64_t magnitude = 9;
};
/// Draws one operation of 14 and its strength (policies.h).
struct TrivialAugment {};
/// Mixes the image with chains of one to three drawn operations (policies.h), without the loss over
/// three views of an image.
struct AugMix {
  std::int64_t severity = 3;  ///< operations have the strengths below it, of 10
  std::int64_t chains = 3;
  bool all = false;  ///< also brightness, color, contrast and sharpness, as torchvision's default
};

/// Four random words, reserved for one step, sample and epoch.
using RandomWords = std::array<std::uint32_t, 4>;

/// A custom step on a whole decoded image, before it is scaled to the size of the data set. It may
/// change the pixels and the size, but not the number of channels. Only other ImageTransforms may
/// come before it. Custom steps are called from several threads at the same time, and their
/// exceptions reach the caller of `next`; batches are then made on the host.
struct ImageTransform {
  std::function<void(Image& image, RandomWords random)> apply;
};

/// A custom step on the pixels (H,W,C) of an image after the steps before it.
struct PixelTransform {
  std::function<void(std::span<std::uint8_t> pixels, RandomWords random)> apply;
};

/// A custom step on the model's input, (H,W,C) or features: normalized and f32, before any rounding
/// to half. Only steps of this kind, Cutout and Erase may come after it.
struct ValueTransform {
  std::function<void(std::span<float> values, RandomWords random)> apply;
};

/// One step of augmentation. Steps run in the order of the list, but Cutout and Erase come after
/// all steps that move or change pixels, wherever they are in it.
using Transform = std::variant<FlipLr,
                               Pad,
                               RandomCrop,
                               CenterCrop,
                               ResizedCrop,
                               Affine,
                               Jitter,
                               Gray,
                               Invert,
                               Posterize,
                               Solarize,
                               Equalize,
                               Autocontrast,
                               Sharpness,
                               Blur,
                               RandAugment,
                               TrivialAugment,
                               AugMix,
                               Cutout,
                               Erase,
                               PixelTransform,
                               ImageTransform,
                               ValueTransform>;

/// Concatenates steps and lists of steps, which run in this order: `compose(augmentation("basic",
/// 32, 32), Cutout{}, PixelTransform{mine})`.
template <class... Parts>
[[nodiscard]] std::vector<Transform> compose(Parts&&... parts) {
  std::vector<Transform> all;
  [[maybe_unused]] const auto append = [&]<class Part>(Part&& part) {
    if constexpr (std::is_constructible_v<Transform, Part>)
      all.emplace_back(std::forward<Part>(part));
    else
      all.insert(all.end(), part.begin(), part.end());
  };
  (append(std::forward<Parts>(parts)), ...);
  return all;
}

}  // namespace learn::data
