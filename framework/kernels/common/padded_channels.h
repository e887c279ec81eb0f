#pragma once
#include "framework/core/round_up.h"

#include <cstdint>

namespace learn {

/// Channels (features) of f16 and bf16 in the form that CUDA's convolutions and products need: rows
/// of 16 bytes, with trailing zeros.
[[nodiscard]] constexpr std::int64_t padded_half_channels(std::int64_t channels) {
  constexpr std::int64_t kRow = 8;
  return round_up(channels, kRow);
}

}  // namespace learn
