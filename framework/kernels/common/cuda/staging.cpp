#include "framework/kernels/common/cuda/staging.h"

#include "framework/kernels/common/cuda/pad_channels.h"
#include "framework/runtime/cuda/api_error.h"

#include <cuda_runtime_api.h>

namespace learn::cuda {
namespace {

bool as_wanted(const void* data, const StagedShape& shape) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && shape.columns == shape.width &&
         shape.rows == shape.all_rows;
}

std::size_t bytes_of(DType dtype, const StagedShape& shape) {
  return static_cast<std::size_t>(shape.all_rows * shape.width) * size_of(dtype);
}

}  // namespace

StagedInput::StagedInput(
    Stream stream, Arena& workspace, DType dtype, const void* from, const StagedShape& shape)
    : data_(from) {
  if (from == nullptr || as_wanted(from, shape)) return;
  copy_ = workspace.allocate(bytes_of(dtype, shape));
  data_ = copy_.data();
  if (shape.columns == shape.width && shape.rows == shape.all_rows) {
    check_api(cudaMemcpyAsync(
        copy_.data(), from, bytes_of(dtype, shape), cudaMemcpyDeviceToDevice, stream));
    return;
  }
  // Rows that already have the required width form one long row, followed by the rows of zeros.
  const bool one = shape.columns == shape.width;
  visit_floating(dtype, [&]<class T>() {
    if constexpr (sizeof(T) == 2)  // no other type is padded
      pad_channels(stream,
                   static_cast<const T*>(from),
                   one ? 1 : shape.rows,
                   one ? shape.rows * shape.width : shape.columns,
                   reinterpret_cast<T*>(copy_.data()),
                   one ? shape.all_rows * shape.width : shape.width);
  });
  if (one || shape.rows == shape.all_rows) return;
  const std::size_t filled = static_cast<std::size_t>(shape.rows * shape.width) * size_of(dtype);
  check_api(cudaMemsetAsync(copy_.data() + filled, 0, bytes_of(dtype, shape) - filled, stream));
}

StagedOutput::StagedOutput(
    Stream stream, Arena& workspace, DType dtype, void* to, const StagedShape& shape)
    : stream_(stream), dtype_(dtype), to_(to), shape_(shape), data_(to) {
  if (as_wanted(to, shape)) return;
  copy_ = workspace.allocate(bytes_of(dtype, shape));
  data_ = copy_.data();
}

void StagedOutput::finish(GradMode mode) {
  if (in_place()) return;
  visit_floating(dtype_, [&]<class T>() {
    if constexpr (sizeof(T) < sizeof(double))
      unpad_channels(stream_,
                     reinterpret_cast<const T*>(copy_.data()),
                     shape_.rows,
                     shape_.width,
                     static_cast<T*>(to_),
                     shape_.columns,
                     mode);
  });
}

}  // namespace learn::cuda
