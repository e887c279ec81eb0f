#pragma once
#include "framework/runtime/context.h"

#include <cstdint>

namespace learn::nn {

/// Returns classes (N) i64 as soft targets (N,`count`) of a floating dtype: 1 for the sample's
/// class, 0 for the others. Throws as `kernels::softmax_cross_entropy` for a class out of range.
[[nodiscard]] Tensor class_shares(Context& ctx,
                                  const Tensor& classes,
                                  std::int64_t count,
                                  DType dtype);

}  // namespace learn::nn
