#pragma once
#include "framework/autograd/var.h"

namespace learn::ops {

/// Matrix products of one floating dtype; halves accumulate in f32. (M,K) x (K,N) -> (M,N); with
/// leading dimensions (...,M,K) x (K,N) -> (...,M,N), and matrix by matrix (...,M,K) x (...,K,N)
/// where they are the same on both sides. Under autocast the operands are cast to the half. Throws
/// ShapeError, with both shapes, if they do not fit or an extent is 0; DTypeError.
[[nodiscard]] Var matmul(const Var& a, const Var& b);

}  // namespace learn::ops
