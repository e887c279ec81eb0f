#pragma once
#include <cstdint>

namespace learn::cpu {

/// The classes of scores (rows, columns): one of `classes` (rows) and `weights` (rows, columns) is
/// not null.
template <class Wide>
struct HitTarget {
  const std::int64_t* classes;
  const Wide* weights;
  std::int64_t rows, columns;
};

}  // namespace learn::cpu
