#pragma once
#include <cstdint>

namespace learn {

/// All sizes of a linear layer: x (n,c) * w (k,c)^T -> y (n,k). `count` is the number of
/// consecutive matrices of each.
struct LinearGeometry {
  std::int64_t n = 0, c = 0, k = 0;
  std::int64_t count = 1;
};

}  // namespace learn
