#pragma once
#include "framework/core/device.h"
#include "framework/core/dtype.h"
#include "framework/core/error.h"
#include "framework/core/shape.h"
#include "framework/tensor/arena.h"
#include "framework/tensor/storage.h"

#include <cstdint>
#include <span>

namespace learn {

/// Bytes of a tensor of that shape. Throws ShapeError for a negative extent, and for extents whose
/// product, those of 0 left out, is more bytes than memory can have.
[[nodiscard]] std::size_t bytes_of(const Shape& shape, DType dtype);

/// A dense array: shape, dtype, device, storage. Always contiguous, innermost dimension last. It
/// does not contain gradients. Copies are handles to the same memory; `const Tensor&` promises not
/// to write through it.
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialized memory from `arena`. Throws ShapeError as `bytes_of`.
  Tensor(Arena& arena, const Shape& shape, DType dtype);
  /// A view of the block, starting `offset` bytes into `storage`, which must be large enough.
  /// Throws ShapeError otherwise, and as `bytes_of`.
  Tensor(Storage storage, std::size_t offset, const Shape& shape, DType dtype);

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] Device device() const noexcept { return storage_.device(); }
  /// The block of memory that it is a view of.
  [[nodiscard]] const Storage& storage() const noexcept { return storage_; }
  [[nodiscard]] std::int64_t elements() const noexcept { return shape_.elements(); }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(elements()) * size_of(dtype_);
  }
  /// False for a default-made Tensor.
  [[nodiscard]] bool defined() const noexcept { return !storage_.empty(); }
  /// Whether another tensor is in the same block of memory.
  [[nodiscard]] bool shared() const noexcept { return storage_.shared(); }
  /// True if both are views of one block that start at the same byte.
  [[nodiscard]] bool same_memory(const Tensor& other) const noexcept {
    return raw() == other.raw();
  }

  /// Elements as `T`, for kernels: of a CUDA tensor a device pointer, which the host cannot read;
  /// `item`, `span` and `to_host` are for the host. Throws DTypeError unless `T` is the
  /// C++ type of `dtype()`.
  template <class T>
  [[nodiscard]] T* data() {
    check_type(kDType<T>);
    return reinterpret_cast<T*>(raw());
  }
  /// To read; the same for each `const` below.
  template <class T>
  [[nodiscard]] const T* data() const {
    check_type(kDType<T>);
    return reinterpret_cast<const T*>(raw());
  }
  /// The elements of a CPU tensor. Throws DeviceError otherwise, ShapeError for an undefined
  /// tensor.
  template <class T>
  [[nodiscard]] std::span<T> span() {
    check_host();
    return {data<T>(), static_cast<std::size_t>(elements())};
  }
  template <class T>
  [[nodiscard]] std::span<const T> span() const {
    check_host();
    return {data<T>(), static_cast<std::size_t>(elements())};
  }
  /// The one element of a tensor on any device, on the host. Waits for the device. Throws
  /// ShapeError unless there is one, DTypeError unless `T` is its type, DeviceError.
  template <class T>
  [[nodiscard]] T item() const {
    check_type(kDType<T>);
    check_defined();
    check(elements() == 1, "item: shape {} has {} elements, not one", shape_, elements());
    T value;
    storage_.read(&value, offset_, sizeof(T));
    return value;
  }
  /// Throws Error for a tensor that is read-only; so do the others that are not `const`.
  [[nodiscard]] std::byte* raw() {
    check_writable();
    return storage_.data() + offset_;
  }
  [[nodiscard]] const std::byte* raw() const noexcept { return storage_.data() + offset_; }

  /// Returns the same memory, read-only through the result and tensors made of it: for a copy of a
  /// value that is maintained elsewhere. `master` names the tensor to write to instead, in text
  /// that lives as long as the program.
  [[nodiscard]] Tensor read_only(const char* master) const {
    Tensor copy = *this;
    copy.master_ = master;
    return copy;
  }
  /// Returns a view with another shape of equally many elements. Throws ShapeError.
  [[nodiscard]] Tensor view(const Shape& shape) const;
  /// Rows [begin, begin + count) of the outermost dimension, as a view. Throws ShapeError.
  [[nodiscard]] Tensor rows(std::int64_t begin, std::int64_t count) const;
  /// `count` elements from element `begin` on, as shape (count). Throws ShapeError.
  [[nodiscard]] Tensor range(std::int64_t begin, std::int64_t count) const;

 private:
  void check_type(DType wanted) const;
  void check_defined() const;
  void check_host() const;
  void check_writable() const {
    if (master_ != nullptr) refuse_write();
  }
  [[noreturn]] void refuse_write() const;

  Storage storage_;
  std::size_t offset_ = 0;
  Shape shape_;
  DType dtype_ = DType::f32;
  const char* master_ = nullptr;  // what to write to instead, if it is read-only
};

}  // namespace learn
