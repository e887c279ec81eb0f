#pragma once

namespace fakecuda {

/// Instruction::mode of a barrier: what it tells all threads about a predicate.
inline constexpr int kBarrierPopc = 1;
inline constexpr int kBarrierAnd = 2;
inline constexpr int kBarrierOr = 3;

}  // namespace fakecuda
