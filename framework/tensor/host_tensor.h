#pragma once
#include "framework/core/error.h"
#include "framework/tensor/arena.h"
#include "framework/tensor/tensor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace learn {

/// Returns an uninitialized tensor in separate host memory, wherever the context's memory is.
/// Throws OutOfMemoryError, and ShapeError as `bytes_of`.
[[nodiscard]] Tensor host_tensor(const Shape& shape, DType dtype);

/// The values themselves as a tensor, which must not outlive them. Throws ShapeError unless there
/// are as many as `shape` has elements.
template <class T>
[[nodiscard]] Tensor borrowed(const Shape& shape, std::span<const T> values) {
  check(values.size_bytes() == bytes_of(shape, kDType<T>),
        "{} values for shape {}",
        values.size(),
        shape);
  return {Storage(const_cast<T*>(values.data()), values.size_bytes(), Device::cpu(), [] {}),
          0,
          shape,
          kDType<T>};
}

/// Returns a copy of the values in separate host memory. Throws as `borrowed`.
template <class T>
[[nodiscard]] Tensor host_tensor(const Shape& shape, std::span<const T> values) {
  const Tensor source = borrowed(shape, values);
  Tensor out = host_tensor(shape, source.dtype());
  std::copy_n(source.template data<T>(), source.elements(), out.template data<T>());
  return out;
}

}  // namespace learn
