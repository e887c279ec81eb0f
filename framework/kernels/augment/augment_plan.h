#pragma once
#include <cstdint>

namespace learn {

/// A list of augmentations of u8 images (H,W,C) as plain data that travels with a launch. See
/// data/loading/transforms.h for the effect and the random numbers of each step.
struct AugmentPlan {
  static constexpr int kMaxSteps = 16;
  static constexpr int kMaxHoles = 32;
  static constexpr int kMaxChannels = 16;

  /// A step that moves rows and columns.
  struct Step {
    enum class Kind : std::uint8_t { flip, pad_reflect, pad_zero, random_crop, center_crop };
    Kind kind = Kind::flip;
    std::int32_t number = 0;             ///< its place in the list: which random words are its own
    std::int32_t height = 0, width = 0;  ///< of the image before it
    std::int32_t pixels = 0;             ///< pad: how many on each side
    std::int32_t out_height = 0, out_width = 0;  ///< crops: what is kept
    float probability = 0;                       ///< flip
  };
  /// One square of a cutout, which comes after all steps.
  struct Hole {
    std::int32_t number = 0;  ///< the cutout's place in the list
    std::int32_t hole = 0;    ///< which of its holes
    std::int32_t length = 0;
  };

  std::int32_t height = 0, width = 0;          ///< of the images
  std::int32_t out_height = 0, out_width = 0;  ///< of the result
  std::int32_t steps = 0, holes = 0;
  Step step[kMaxSteps];
  Hole hole[kMaxHoles];
  std::int32_t channels = 3;
  float mean[kMaxChannels] = {};  ///< as many as there are channels
  float std[kMaxChannels] = {};
};

}  // namespace learn
