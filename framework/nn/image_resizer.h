#pragma once
#include "framework/runtime/context.h"

#include <cstdint>

namespace learn::nn {

/// Resizes batches of images on the context's device with the weights with which images of a data
/// set are resized (kernels/augment/taps.h): bilinear interpolation, with antialiasing as in
/// Pillow. They are a matrix for each axis, by which the images are multiplied.
class ImageResizer {
 public:
  struct Size {
    std::int64_t height = 0, width = 0;
    friend bool operator==(const Size&, const Size&) = default;
  };

  /// For images of a floating dtype. Throws UsageError unless all sides are at least 1.
  ImageResizer(Context& ctx, const Size& from, const Size& to, DType dtype);

  [[nodiscard]] bool is(const Size& from, const Size& to, DType dtype) const;

  /// Returns images (N,H,W,C) of the given size in the other size. Throws ShapeError for images of
  /// a different size, DTypeError for another dtype.
  [[nodiscard]] Tensor operator()(Context& ctx, const Tensor& images) const;

 private:
  Size from_, to_;
  Tensor rows_, columns_;  // (out,in)
};

}  // namespace learn::nn
