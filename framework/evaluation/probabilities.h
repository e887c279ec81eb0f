#pragma once
#include <span>
#include <vector>

namespace learn {

/// The softmax of a row of logits, without overflow; all NaN if one of them is NaN.
[[nodiscard]] std::vector<double> softmax(std::span<const float> logits);

/// Minus the logarithm of the softmax of element `of`, exact where the probability would be 0.
[[nodiscard]] double negative_log_softmax(std::span<const float> logits, std::size_t of);

}  // namespace learn
