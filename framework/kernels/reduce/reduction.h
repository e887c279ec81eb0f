#pragma once
#include <cstdint>

namespace learn::kernels {

/// The operation that reduces many elements to one.
enum class Reduction : std::uint8_t { sum, max, min };

}  // namespace learn::kernels
