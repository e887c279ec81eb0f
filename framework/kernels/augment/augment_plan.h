#pragma once
#include "framework/kernels/augment/image_change.h"

#include <cstdint>

namespace learn {

/// A list of augmentations of u8 images (H,W,C) as plain data, passed as a kernel argument.
/// data/loading/transforms.h documents each step.
struct AugmentPlan {
  static constexpr int kMaxSteps = 16;
  static constexpr int kMaxHoles = 32;
  static constexpr int kMaxChannels = 16;

  /// A drawn number is uniform in it.
  struct Span {
    float low = 0, high = 0;
  };

  struct Step {
    enum class Kind : std::uint8_t {
      // These move rows and columns.
      flip,
      pad_reflect,
      pad_zero,
      random_crop,
      center_crop,
      // All later ones change pixels (run_step.h).
      resized_crop,
      affine,
      jitter,
      single,  // `change`, of which only a factor is drawn
      randaugment,
      trivial,
      augmix,
    };
    Kind kind = Kind::flip;
    image::Change::Kind change = image::Change::Kind::none;  ///< single
    bool alternate = false;   ///< flip: the other way in every second epoch
    bool smooth = false;      ///< affine: interpolate between pixels
    bool all = false;         ///< augmix: with the operations on colours
    std::int32_t number = 0;  ///< its position in the list, which selects its random words
    std::int32_t height = 0, width = 0;          ///< of the image before this step
    std::int32_t out_height = 0, out_width = 0;  ///< crops: the size that remains
    std::int32_t pixels = 0;                     ///< pad: pixels on each side
    /// posterize: bits; solarize: threshold; blur: size of the window; randaugment: operations;
    /// augmix: chains.
    std::int32_t count = 0;
    std::int32_t level = 0;  ///< randaugment: magnitude; augmix: severity
    float probability = 1;   ///< of doing anything
    /// resized_crop: share of the area, logarithm of width / height. affine: degrees, shift as a
    /// share of the side, scale, degrees of shear. jitter: factors of brightness, contrast and
    /// saturation, shift of the hue. sharpness: factor. blur: deviation in pixels.
    Span range[4];

    [[nodiscard]] constexpr bool moves() const noexcept { return kind <= Kind::center_crop; }
  };

  /// A rectangle that is erased after all steps.
  struct Hole {
    std::int32_t number = 0;  ///< the position of its step in the list
    std::int32_t hole = 0;    ///< index of the hole within the step
    std::int32_t length = 0;  ///< of a square whose centre is in the image; 0: erase
    bool noise = false;       ///< filled with normal noise instead of 0
    float probability = 1;
    Span area, log_ratio;  ///< erase: share of the image, logarithm of height / width
  };

  std::int32_t height = 0, width = 0;          ///< of the source images
  std::int32_t out_height = 0, out_width = 0;  ///< of the result
  std::int32_t steps = 0, holes = 0;
  Step step[kMaxSteps];
  Hole hole[kMaxHoles];
  std::int32_t channels = 3;
  float mean[kMaxChannels] = {};  ///< one per channel
  float std[kMaxChannels] = {};
};

}  // namespace learn
