#include "framework/tensor/factory.h"

#include "framework/core/random.h"
#include "framework/tensor/convert.h"

namespace learn {

Tensor full(Arena& arena, const Shape& shape, DType dtype, double value) {
  Tensor out(arena, shape, dtype);
  for (std::int64_t i = 0; i < out.elements(); ++i) set(out, i, value);
  return out;
}

Tensor zeros(Arena& arena, const Shape& shape, DType dtype) { return full(arena, shape, dtype, 0); }

Tensor from_values(Arena& arena, const Shape& shape, std::span<const double> values, DType dtype) {
  check(static_cast<std::int64_t>(values.size()) == shape.elements(),
        "from_values: {} values for shape {}",
        values.size(),
        shape);
  Tensor out(arena, shape, dtype);
  for (std::size_t i = 0; i < values.size(); ++i) set(out, static_cast<std::int64_t>(i), values[i]);
  return out;
}

Tensor uniform(Arena& arena,
               const Shape& shape,
               DType dtype,
               double low,
               double high,
               std::uint64_t seed,
               std::uint64_t stream) {
  Tensor out(arena, shape, dtype);
  for (std::int64_t i = 0; i < out.elements(); ++i) {
    const Random4 r = random4(seed, RandomPurpose::test, stream, static_cast<std::uint64_t>(i));
    set(out, i, low + (high - low) * static_cast<double>(uniform01(r.v[0])));
  }
  return out;
}

double get(const Tensor& tensor, std::int64_t i) {
  double value = 0;
  visit_dtype(tensor.dtype(),
              [&]<class T>() { value = as_double(tensor.span<T>()[static_cast<std::size_t>(i)]); });
  return value;
}

void set(Tensor& tensor, std::int64_t i, double value) {
  visit_dtype(tensor.dtype(), [&]<class T>() {
    tensor.span<T>()[static_cast<std::size_t>(i)] = from_double<T>(value);
  });
}

}  // namespace learn
