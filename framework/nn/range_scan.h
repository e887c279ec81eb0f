#pragma once
#include "framework/nn/param_store.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn::nn {

/// The smallest magnitude that a half holds with all its digits: 2^-14 in f16, 2^-126 in bf16.
[[nodiscard]] double smallest_normal(DType half);
/// The largest that is finite: 65504 in f16, 3.39e38 in bf16.
[[nodiscard]] double largest_finite(DType half);

/// The effect of rounding a parameter's master to a half.
struct ParamRange {
  std::string name;
  std::int64_t count = 0;
  /// False: it stays f32 in a half model, as BatchNorm's do, and nothing is counted but the values
  /// that are not finite.
  bool cast = true;
  std::int64_t not_finite = 0;  ///< NaN or infinite already
  std::int64_t overflow = 0;    ///< finite, and infinite as halves: from 65520 on in f16
  std::int64_t zero = 0;        ///< not zero, and zero as halves: up to 2^-25 in f16
  std::int64_t subnormal = 0;   ///< halves of fewer digits: below 2^-14 in f16, not zero
  double largest = 0;           ///< magnitude of the finite values

  [[nodiscard]] double share(std::int64_t some) const {
    return static_cast<double>(some) / static_cast<double>(count);
  }
};

/// Invalid running statistics. They stay f32 in a half model, so their size does not matter.
struct BufferRange {
  std::string name;
  std::int64_t count = 0;
  std::int64_t not_finite = 0;
  std::int64_t negative = 0;  ///< of a variance, which never is: of a buffer "running_var"
};

struct RangeScan {
  DType half = DType::f16;
  std::vector<ParamRange> params;        ///< all, in the order of the store
  std::vector<BufferRange> bad_buffers;  ///< those with findings

  /// Parameters with values that overflow, the largest value first: as halves these would be
  /// infinite, and so would every output.
  [[nodiscard]] std::vector<ParamRange> overflowing() const;
  /// Parameters of which at least `share` of the values become zero, the largest share first.
  [[nodiscard]] std::vector<ParamRange> vanishing(double share) const;
  /// One line: "as f16: 2 of 3712 values overflow (the largest is 70000), 0.10 % become zero, 1.20
  /// % are subnormal, 0 are NaN or infinite already". Covers the parameters that would be cast.
  [[nodiscard]] std::string verdict() const;
};

/// Looks at the masters of a store before they become halves, by `set_working_dtype` or by
/// autocast, and at its running statistics. Changes nothing; waits for the device. Throws
/// DTypeError unless `half` is f16 or bf16, Error for a store without memory.
[[nodiscard]] RangeScan scan_range(ParamStore& store, DType half, Masters masters = Masters::f32);

}  // namespace learn::nn
