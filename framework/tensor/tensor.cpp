#include "framework/tensor/tensor.h"

#include <utility>

namespace learn {

Tensor::Tensor(Arena& arena, const Shape& shape, DType dtype)
    : storage_(arena.allocate(static_cast<std::size_t>(shape.elements()) * size_of(dtype))),
      shape_(shape),
      dtype_(dtype) {}

Tensor::Tensor(Storage storage, std::size_t offset, const Shape& shape, DType dtype)
    : storage_(std::move(storage)), offset_(offset), shape_(shape), dtype_(dtype) {
  check(offset_ + bytes() <= storage_.bytes(),
        "tensor: {} of {} at byte {} does not fit into {} bytes",
        shape,
        dtype,
        offset_,
        storage_.bytes());
}

Tensor Tensor::view(const Shape& shape) const {
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
  check(shape_.rank() >= 1 && begin >= 0 && count >= 0 && begin + count <= shape_[0],
        "rows: [{}, {}) of {}",
        begin,
        begin + count,
        shape_);
  Tensor out = *this;
  const std::int64_t row = shape_[0] == 0 ? 0 : elements() / shape_[0];
  out.offset_ += static_cast<std::size_t>(begin * row) * size_of(dtype_);
  out.shape_.set(0, count);
  return out;
}

Tensor Tensor::range(std::int64_t begin, std::int64_t count) const {
  check(begin >= 0 && count >= 0 && begin + count <= elements(),
        "range: [{}, {}) of {} elements",
        begin,
        begin + count,
        elements());
  Tensor out = *this;
  out.offset_ += static_cast<std::size_t>(begin) * size_of(dtype_);
  out.shape_ = {count};
  return out;
}

void Tensor::check_type(DType wanted) const {
  check<DTypeError>(dtype_ == wanted, "tensor holds {}, asked for {}", dtype_, wanted);
}

void Tensor::check_host() const {
  check<DeviceError>(
      device().is_cpu(), "tensor is on {}: copy it to the host to read it", device());
}

void Tensor::refuse_write() const { fail<Error>("this tensor is read-only: {}", master_); }

}  // namespace learn
