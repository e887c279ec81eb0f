#pragma once
#include "framework/autograd/var.h"

namespace learn::ops {

/// w (K,...) = g v / ||v||, each of the K rows by itself (Salimans & Kingma 2016; PyTorch's
/// weight_norm with dim 0): `v` of a floating dtype, which w has too, `g` (K) or (K,1,...) f32 (f64
/// for f64 v). A row of zeros becomes NaN.
[[nodiscard]] Var weight_norm(const Var& v, const Var& g);

}  // namespace learn::ops
