#include "framework/kernels/conv/cpu/conv_border.h"

#include <algorithm>

namespace learn::cpu {
namespace {

/// The number of results up to which a border is faster for one image, as measured (ADR 0022). With
/// more images or larger maps, classes have enough rows, and the zeros only add cost.
constexpr std::int64_t kMaxResults = 16;

/// Returns the extent that the windows of all results cover along an axis, counted from the first
/// element of the border.
std::int64_t covered(std::int64_t out, std::int64_t window, std::int64_t stride) {
  return (out - 1) * stride + window;
}

}  // namespace

BorderedInput::BorderedInput(Arena& workspace, const ConvGeometry& g, const float* x)
    : x_(x), height_(g.h), width_(g.w), pad_top_(g.options.pad_top), pad_left_(g.options.pad_left) {
  const std::int64_t rows = covered(g.p, g.r, g.options.stride_h);
  const std::int64_t columns = covered(g.q, g.s, g.options.stride_w);
  const bool reaches_beyond =
      pad_top_ > 0 || pad_left_ > 0 || rows > pad_top_ + g.h || columns > pad_left_ + g.w;
  if (!reaches_beyond || g.n != 1 || g.p * g.q > kMaxResults) return;
  copy_.emplace(workspace, rows * columns * g.c);
  const std::int64_t row_floats = columns * g.c;
  // With long strides, all results may be in the padding.
  const std::int64_t left = std::min(pad_left_, columns) * g.c;
  const std::int64_t inside = std::clamp<std::int64_t>(columns - pad_left_, 0, g.w) * g.c;
  for (std::int64_t row = 0; row < rows; ++row) {
    float* const to = copy_->data() + row * row_floats;
    const std::int64_t from = row - pad_top_;
    if (from < 0 || from >= g.h) {
      std::fill_n(to, row_floats, 0.0F);
      continue;
    }
    float* const begin = std::fill_n(to, left, 0.0F);
    float* const end = std::copy_n(x + from * g.w * g.c, inside, begin);
    std::fill(end, to + row_floats, 0.0F);
  }
  height_ = rows;
  width_ = columns;
  pad_top_ = pad_left_ = 0;
}

}  // namespace learn::cpu
