#include "framework/core/shape.h"

#include "framework/core/error.h"

namespace learn {

void Shape::refuse_extent(std::int64_t extent) const {
  fail<ShapeError>(
      "a shape has at most {} dimensions: cannot add {} to {}", kMaxRank, extent, *this);
}

}  // namespace learn
