#pragma once
#include "framework/interfaces/target_kind.h"

#include <span>
#include <vector>

namespace learn {

/// The softmax of a row of logits, without overflow; all NaN if one of them is NaN.
[[nodiscard]] std::vector<double> softmax(std::span<const float> logits);

/// The sigmoid of a logit; NaN of NaN.
[[nodiscard]] double sigmoid(float logit);

/// Interprets a row of a model's outputs: the probabilities of the classes, which sum to 1, the
/// probability of each label, or the values.
[[nodiscard]] std::vector<double> interpret(TargetKind kind, std::span<const float> outputs);

/// Minus the logarithm of the softmax of element `of`, exact where the probability would be 0.
[[nodiscard]] double negative_log_softmax(std::span<const float> logits, std::size_t of);

}  // namespace learn
