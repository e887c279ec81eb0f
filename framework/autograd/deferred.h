#pragma once
#include "framework/core/dtype.h"
#include "framework/core/shape.h"
#include "framework/tensor/tensor.h"

namespace learn {

/// A value that is computed when it is first asked for, so that the next operation may do with less
/// (ADR 0022). Only where nothing is recorded for a backward pass.
class Deferred {
 public:
  virtual ~Deferred() = default;
  [[nodiscard]] virtual const Shape& shape() const = 0;
  [[nodiscard]] virtual DType dtype() const = 0;
  [[nodiscard]] virtual Tensor compute() const = 0;
};

}  // namespace learn
