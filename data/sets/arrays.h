#pragma once
#include "data/dataset.h"
#include "framework/core/shape.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn::data {

/// Samples and targets in memory for a data set: floats or bytes, with a class or several numbers
/// per sample.
struct Arrays {
  std::vector<float> x;  ///< the samples, one after the other; or `bytes`
  Shape sample;          ///< of one sample: {F} for features, {H,W,C} or {H,W} for images
  std::vector<std::int64_t> classes;            ///< one per sample, from 0; or
  std::vector<float> targets;                   ///< the same number for each sample
  TargetKind target_kind = TargetKind::values;  ///< of `targets`: labels are 0 or 1
  std::vector<std::string> names;   ///< of classes, labels or values; empty: "0", "1", ...
  std::vector<std::uint8_t> bytes;  ///< u8 images, scaled by a loader to 0 to 1
  std::string name = "arrays";      ///< of the set
};

/// Makes a data set of the arrays. Throws DataError for arrays that do not fit together, a negative
/// class, more classes than names, features of bytes, and as `Dataset::validate` does. Use
/// `split_off` to divide it.
[[nodiscard]] Dataset from_arrays(Arrays arrays);

}  // namespace learn::data
