#pragma once
#include <cstdint>

namespace learn::kernels {

/// Kinds of reductions.
enum class Reduction : std::uint8_t { sum, max, min };

}  // namespace learn::kernels
