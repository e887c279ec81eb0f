#pragma once
#include <cstdint>

namespace learn::kernels {

/// What many elements become.
enum class Reduction : std::uint8_t { sum, max, min };

}  // namespace learn::kernels
