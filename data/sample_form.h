#pragma once
#include "framework/core/shape.h"

#include <cstdint>

namespace learn::data {

/// Limit on the channels of images: spectra have hundreds.
inline constexpr std::int64_t kMaxChannels = 1024;

/// The shape and type of all samples of a set.
struct SampleForm {
  std::int64_t height = 0;  ///< 0 together with the width: not images, but `channels` numbers each
  std::int64_t width = 0;
  std::int64_t channels = 3;
  bool floats = false;  ///< f32; otherwise u8

  [[nodiscard]] bool is_image() const noexcept { return height > 0; }
  /// Returns (H,W,C), or (C).
  [[nodiscard]] Shape shape() const {
    return is_image() ? Shape{height, width, channels} : Shape{channels};
  }
  [[nodiscard]] bool operator==(const SampleForm&) const = default;
};

}  // namespace learn::data
