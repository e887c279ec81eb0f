#pragma once
#include <cstdint>

namespace learn {

/// All sizes of a linear layer: x (n,c) * w (k,c)^T -> y (n,k); `count` of each are stored one
/// after the other.
struct LinearGeometry {
  std::int64_t n = 0, c = 0, k = 0;
  std::int64_t count = 1;
};

}  // namespace learn
