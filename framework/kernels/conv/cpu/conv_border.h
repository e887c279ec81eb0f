#pragma once
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/conv_geometry.h"

#include <cstdint>
#include <optional>

namespace learn::cpu {

/// The input of a convolution of one image with few results, surrounded by zeros where windows
/// extend beyond it. With the border, all results see all taps and form one block of rows, which
/// reads the weights once. Without it, there are up to nine classes of results (`AxisClass`), each
/// of which reads most of the weights. For a class of one or two rows, that is more bytes than
/// multiplications.
class BorderedInput {
 public:
  /// Copies `x` if that pays for this geometry, otherwise uses `x` in place.
  BorderedInput(Arena& workspace, const ConvGeometry& g, const float* x);

  [[nodiscard]] const float* data() const { return copy_ ? copy_->data() : x_; }
  /// Return the geometry of the effective input.
  [[nodiscard]] std::int64_t height() const { return height_; }
  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] std::int64_t pad_top() const { return pad_top_; }
  [[nodiscard]] std::int64_t pad_left() const { return pad_left_; }

 private:
  const float* x_;
  std::int64_t height_, width_, pad_top_, pad_left_;
  std::optional<FloatWorkspace> copy_;
};

}  // namespace learn::cpu
