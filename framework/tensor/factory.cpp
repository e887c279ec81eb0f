#include "framework/tensor/factory.h"

#include "framework/core/random.h"
#include "framework/tensor/convert.h"

namespace learn {
namespace {

/// Element `i` is `value(i)`, rounded.
template <class Value>
Tensor made_of(Arena& arena, const Shape& shape, DType dtype, Value value) {
  Tensor out(arena, shape, dtype);
  visit_dtype(dtype, [&]<class T>() {
    const std::span<T> elements = out.span<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = from_double<T>(value(i));
  });
  return out;
}

}  // namespace

Tensor full(Arena& arena, const Shape& shape, DType dtype, double value) {
  return made_of(arena, shape, dtype, [&](std::size_t) { return value; });
}

Tensor zeros(Arena& arena, const Shape& shape, DType dtype) { return full(arena, shape, dtype, 0); }

Tensor from_values(Arena& arena, const Shape& shape, std::span<const double> values, DType dtype) {
  check(values.size() == bytes_of(shape, dtype) / size_of(dtype),
        "from_values: {} values for shape {}",
        values.size(),
        shape);
  return made_of(arena, shape, dtype, [&](std::size_t i) { return values[i]; });
}

Tensor uniform(Arena& arena,
               const Shape& shape,
               DType dtype,
               double low,
               double high,
               std::uint64_t seed,
               std::uint64_t stream) {
  return made_of(arena, shape, dtype, [&](std::size_t i) {
    const Random4 r = random4(seed, RandomPurpose::test, stream, i);
    return low + (high - low) * static_cast<double>(uniform01(r.v[0]));
  });
}

namespace {

void check_index(const Tensor& tensor, std::int64_t i) {
  check(i >= 0 && i < tensor.elements(),
        "element {} of a tensor {}, which has {}",
        i,
        tensor.shape(),
        tensor.elements());
}

}  // namespace

double get(const Tensor& tensor, std::int64_t i) {
  check_index(tensor, i);
  double value = 0;
  visit_dtype(tensor.dtype(),
              [&]<class T>() { value = as_double(tensor.span<T>()[static_cast<std::size_t>(i)]); });
  return value;
}

void set(Tensor& tensor, std::int64_t i, double value) {
  check_index(tensor, i);
  visit_dtype(tensor.dtype(), [&]<class T>() {
    tensor.span<T>()[static_cast<std::size_t>(i)] = from_double<T>(value);
  });
}

}  // namespace learn
