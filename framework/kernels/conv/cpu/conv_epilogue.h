#pragma once
#include "framework/kernels/common/activation_kind.h"

#include <cstdint>

namespace learn::cpu {

/// The operation applied to the output of a convolution while it is in the cache: batch
/// normalization with running statistics, identical to `batch_norm_apply` bit for bit.
struct ConvEpilogue {
  const float* scale;         ///< per output channel
  const float* shift;         ///< per output channel
  const float* y;             ///< start of the output
  const float* residual;      ///< in the layout of the output, or null
  ActivationKind activation;  ///< piecewise linear
  bool residual_before_activation;

  /// Applies the epilogue to rows [0, count), each at rows[i] + offset, for `columns` output
  /// channels starting with `channel`. Null rows are skipped.
  void apply(float* const* rows,
             std::int64_t count,
             std::int64_t offset,
             std::int64_t channel,
             std::int64_t columns) const;
};

}  // namespace learn::cpu
