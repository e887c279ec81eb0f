#pragma once
#include <cstdint>

namespace learn {

/// A list of augmentations of u8 images (H,W,C) as plain data, passed as a kernel argument.
/// data/loading/transforms.h documents each step and its random draws.
struct AugmentPlan {
  static constexpr int kMaxSteps = 16;
  static constexpr int kMaxHoles = 32;
  static constexpr int kMaxChannels = 16;

  /// A step that moves rows and columns.
  struct Step {
    enum class Kind : std::uint8_t { flip, pad_reflect, pad_zero, random_crop, center_crop };
    Kind kind = Kind::flip;
    std::int32_t number = 0;  ///< its position in the list, which selects its random words
    std::int32_t height = 0, width = 0;          ///< of the image before this step
    std::int32_t pixels = 0;                     ///< pad: pixels on each side
    std::int32_t out_height = 0, out_width = 0;  ///< crops: the size that remains
    float probability = 0;                       ///< flip
  };
  /// One square of a cutout. Cutouts are applied after all steps.
  struct Hole {
    std::int32_t number = 0;  ///< the cutout's position in the list
    std::int32_t hole = 0;    ///< index of the hole within the cutout
    std::int32_t length = 0;
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
