#pragma once
#include "framework/core/random.h"

#include <cstdint>

namespace learn::image {

/// An image (H,W,C) of bytes that is being changed, and memory for it. No two pointers are to the
/// same memory.
struct WorkImage {
  std::int32_t height, width, channels;
  std::uint8_t* now;     ///< the pixels
  std::uint8_t* next;    ///< as many bytes as the image will ever have
  std::uint8_t* origin;  ///< the same; augmix only
  float* sums;           ///< the same number of floats; augmix only
  std::uint16_t* lines;  ///< blur: H W C; resizing: (H of the result) W C
  std::int32_t* taps;    ///< blur: its size + 2; resizing: `tap_words` of each axis

  LEARN_HD void swap() {
    std::uint8_t* const other = now;
    now = next;
    next = other;
  }
};

}  // namespace learn::image
