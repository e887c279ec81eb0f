#pragma once
#include "data/dataset.h"
#include "framework/core/shape.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn::data {

/// Samples and targets in memory, to be a data set: floats or bytes; a class for each sample, or
/// several numbers.
struct Arrays {
  std::vector<float> x;               ///< the samples, one after the other; or `bytes`
  Shape sample;                       ///< of one: {F} for features, {H,W,C} or {H,W} for images
  std::vector<std::int64_t> classes;  ///< one per sample, from 0; or
  std::vector<float> targets;         ///< as many numbers for each sample
  TargetKind target_kind = TargetKind::values;  ///< of `targets`: labels are 0 or 1
  std::vector<std::string> names;   ///< of classes, labels or values; none: "0", "1", ...
  std::vector<std::uint8_t> bytes;  ///< images of u8, which a loader takes as 0 to 1
  std::string name = "arrays";      ///< of the set
};

/// The set that they are. Throws DataError for arrays that do not fit together, a negative class,
/// more classes than names, features of bytes, and as `Dataset::validate`. `split_off` divides it.
[[nodiscard]] Dataset from_arrays(Arrays arrays);

}  // namespace learn::data
