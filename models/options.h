#pragma once
#include "framework/core/shape.h"

#include <cstdint>

namespace learn::models {

/// What the command line and other general code can ask of any model. A family that has no use for
/// an option refuses it with a UsageError; it is never ignored.
struct ModelOptions {
  int classes = 10;
  Shape input{32, 32, 3};  ///< one picture, (H,W,C)
  std::int64_t width = 0;  ///< 0 = the model's own; what it counts is in the model's help
  double dropout = 0;      ///< probability, in [0, 1)
};

}  // namespace learn::models
