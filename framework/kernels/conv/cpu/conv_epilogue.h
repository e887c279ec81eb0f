#pragma once
#include "framework/kernels/common/activation_kind.h"

#include <cstdint>

namespace learn::cpu {

/// Transformation of a convolution's output while it is in the cache: batch normalisation with
/// running statistics, as `batch_norm_apply` does it, to the bit.
struct ConvEpilogue {
  const float* scale;         ///< of each output channel
  const float* shift;         ///< of each output channel
  const float* y;             ///< start of the output
  const float* residual;      ///< laid out as the output; null: none
  ActivationKind activation;  ///< piecewise linear
  bool residual_before_activation;

  /// Rows [0, count), each at rows[i] + offset, of `columns` output channels from `channel` on.
  /// Null rows are left out.
  void apply(float* const* rows,
             std::int64_t count,
             std::int64_t offset,
             std::int64_t channel,
             std::int64_t columns) const;
};

}  // namespace learn::cpu
