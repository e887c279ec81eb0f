#pragma once
#include <cstdint>

namespace learn::kernels {

/// The two results of a softmax.
enum class SoftmaxForm : std::uint8_t { probabilities, logarithms };

}  // namespace learn::kernels
