#pragma once
#include "framework/tensor/factory.h"

#include <cstdint>

/// Operands of tests that call operations of the backend themselves, and what they are compared
/// with.
namespace learn::test {

/// The reference on the CPU.
[[nodiscard]] inline Context& oracle() {
  static Context ctx({.reference = true});
  return ctx;
}

/// Numbers in [-1, 1), the same for the same `stream`, on the host.
[[nodiscard]] inline Tensor drawn(const Shape& shape, DType dtype, std::uint64_t stream) {
  return uniform(oracle().persistent(), shape, dtype, -1, 1, 5, stream);
}

}  // namespace learn::test
