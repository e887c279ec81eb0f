#pragma once
#include "framework/core/round_up.h"

#include <cstdint>

namespace learn {

/// Returns the number of channels (features) of f16 and bf16 after padding with zeros to rows of 16
/// bytes, which CUDA's convolutions and products need.
[[nodiscard]] constexpr std::int64_t padded_half_channels(std::int64_t channels) {
  constexpr std::int64_t kRow = 8;
  return round_up(channels, kRow);
}

}  // namespace learn
