#pragma once
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/conv_geometry.h"

#include <cstdint>
#include <optional>

namespace learn::cpu {

/// The input of a convolution of one image and few results, with a border of zeros where windows
/// reach beyond it. Then all results see all taps and are one block of rows, which reads the
/// weights once. Without, there are up to nine classes of results (`AxisClass`), and each reads
/// most of the weights: more bytes than multiplications, if a class has a row or two.
class BorderedInput {
 public:
  /// Copies `x` if that pays for this geometry, else is `x` as it lies.
  BorderedInput(Arena& workspace, const ConvGeometry& g, const float* x);

  [[nodiscard]] const float* data() const { return copy_ ? copy_->data() : x_; }
  /// The convolution's new input.
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
