#pragma once
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <span>

/// Host tensors made from values. `to_device` of runtime/transfer.h brings them to a device.
namespace learn {

/// Every element `value`, converted to `dtype` (rounded to nearest even for halves).
[[nodiscard]] Tensor full(Arena& arena, const Shape& shape, DType dtype, double value);
[[nodiscard]] Tensor zeros(Arena& arena, const Shape& shape, DType dtype = DType::f32);
/// Converts `values` to `dtype`. Throws ShapeError unless there are as many as `shape` has
/// elements.
[[nodiscard]] Tensor from_values(Arena& arena,
                                 const Shape& shape,
                                 std::span<const double> values,
                                 DType dtype = DType::f32);
/// Uniform in [low, high): random4(seed, purpose, stream, element), so the values depend on the
/// arguments alone. Halves are rounded from f32.
[[nodiscard]] Tensor uniform(Arena& arena,
                             const Shape& shape,
                             DType dtype,
                             double low,
                             double high,
                             std::uint64_t seed,
                             std::uint64_t stream = 0);

/// Element `i` of a host tensor of any dtype as a double; and the reverse, rounding. Throw
/// ShapeError unless it has that element.
[[nodiscard]] double get(const Tensor& tensor, std::int64_t i);
void set(Tensor& tensor, std::int64_t i, double value);

}  // namespace learn
