#include "framework/tensor/tensor.h"

#include <utility>

namespace learn {

std::size_t bytes_of(const Shape& shape, DType dtype) {
  auto bytes = static_cast<std::int64_t>(size_of(dtype));
  bool empty = false;
  for (const std::int64_t extent : shape) {
    check(extent >= 0, "tensor: shape {} has the negative extent {}", shape, extent);
    empty = empty || extent == 0;
    // Also for an empty tensor: strides and rows are products of some of its extents.
    check(extent == 0 || !__builtin_mul_overflow(bytes, extent, &bytes),
          "tensor: shape {} of {} needs more bytes than the address space has",
          shape,
          dtype);
  }
  return empty ? 0 : static_cast<std::size_t>(bytes);
}

Tensor::Tensor(Arena& arena, const Shape& shape, DType dtype)
    : storage_(arena.allocate(bytes_of(shape, dtype))), shape_(shape), dtype_(dtype) {}

Tensor::Tensor(Storage storage, std::size_t offset, const Shape& shape, DType dtype)
    : storage_(std::move(storage)), offset_(offset), shape_(shape), dtype_(dtype) {
  const std::size_t bytes = bytes_of(shape, dtype);
  check(offset_ <= storage_.bytes() && bytes <= storage_.bytes() - offset_,
        "tensor: {} of {} at byte {} does not fit into {} bytes",
        shape,
        dtype,
        offset_,
        storage_.bytes());
}

Tensor Tensor::view(const Shape& shape) const {
  (void)bytes_of(shape, dtype_);
  check(shape.elements() == elements(),
        "view: {} elements of {} cannot be {}",
        elements(),
        shape_,
        shape);
  Tensor out = *this;
  out.shape_ = shape;
  return out;
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t count) const {
  check(shape_.rank() >= 1 && begin >= 0 && count >= 0 && begin <= shape_[0] &&
            count <= shape_[0] - begin,
        "rows: {} rows from {} on exceed {}",
        count,
        begin,
        shape_);
  Tensor out = *this;
  const std::int64_t row = shape_[0] == 0 ? 0 : elements() / shape_[0];
  out.offset_ += static_cast<std::size_t>(begin * row) * size_of(dtype_);
  out.shape_.set(0, count);
  return out;
}

Tensor Tensor::range(std::int64_t begin, std::int64_t count) const {
  check(begin >= 0 && count >= 0 && begin <= elements() && count <= elements() - begin,
        "range: {} elements from {} on exceed {}",
        count,
        begin,
        elements());
  Tensor out = *this;
  out.offset_ += static_cast<std::size_t>(begin) * size_of(dtype_);
  out.shape_ = {count};
  return out;
}

void Tensor::check_type(DType wanted) const {
  check<DTypeError>(dtype_ == wanted, "tensor holds {}, asked for {}", dtype_, wanted);
}

void Tensor::check_defined() const {
  check(defined() || elements() == 0, "tensor: it is undefined and has no elements");
}

void Tensor::check_host() const {
  check_defined();
  check<DeviceError>(
      device().is_cpu(), "tensor is on {}: copy it to the host to read it", device());
}

void Tensor::refuse_write() const { fail<Error>("this tensor is read-only: {}", master_); }

}  // namespace learn
