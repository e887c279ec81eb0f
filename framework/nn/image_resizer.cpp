#include "framework/nn/image_resizer.h"

#include "framework/core/error.h"
#include "framework/kernels/augment/taps.h"
#include "framework/kernels/map/map.h"
#include "framework/kernels/product/linear.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"

#include <array>
#include <vector>

namespace learn::nn {
namespace {

/// The weights (out,in) of source pixels in results.
Tensor matrix_of(Context& ctx, std::int64_t in, std::int64_t out, DType dtype) {
  check<UsageError>(
      in >= 1 && out >= 1, "resize: {} pixels cannot become {}: both must be at least 1", in, out);
  const image::Axis axis =
      image::scaled(static_cast<std::int32_t>(in), static_cast<std::int32_t>(out));
  Tensor host = host_tensor({out, in}, dtype);
  std::vector<std::int32_t> taps(static_cast<std::size_t>(axis.tap_words()));
  for (std::int32_t o = 0; o < axis.result; ++o) {
    image::make_taps(axis, o, taps.data());
    for (std::int64_t i = 0; i < in; ++i) {
      const std::int64_t tap = i - taps[0];
      const bool counts = tap >= 0 && tap < taps[1];
      set(host,
          o * in + i,
          counts ? static_cast<double>(taps[static_cast<std::size_t>(2 + tap)]) / image::kOne : 0);
    }
  }
  return to_device(ctx, ctx.persistent(), host);
}

/// Multiplies the last dimension of x by the matrix, and permutes the result.
Tensor multiplied(Context& ctx, const Tensor& x, const Tensor& matrix, std::array<int, 4> order) {
  Shape shape = x.shape();
  const std::int64_t in = matrix.shape()[1];
  const std::int64_t out = matrix.shape()[0];
  const std::int64_t lines = shape.elements() / in;
  Tensor product = ctx.empty({lines, out}, x.dtype());
  kernels::linear_forward(ctx, x.view({lines, in}), matrix, {}, product);
  const Shape wide{shape[0], shape[1], shape[2], out};
  Tensor y = ctx.empty({wide[order[0]], wide[order[1]], wide[order[2]], wide[order[3]]}, x.dtype());
  kernels::permute(ctx, product.view(wide), order, y, GradMode::overwrite);
  return y;
}

}  // namespace

bool ImageResizer::is(const Size& from, const Size& to, DType dtype) const {
  return from == from_ && to == to_ && dtype == rows_.dtype();
}

ImageResizer::ImageResizer(Context& ctx, const Size& from, const Size& to, DType dtype)
    : from_(from),
      to_(to),
      rows_(matrix_of(ctx, from.height, to.height, dtype)),
      columns_(matrix_of(ctx, from.width, to.width, dtype)) {}

Tensor ImageResizer::operator()(Context& ctx, const Tensor& images) const {
  const Shape& shape = images.shape();
  check(shape.rank() == 4 && shape[1] == from_.height && shape[2] == from_.width,
        "resize: the images must be (N,{},{},C), not {}",
        from_.height,
        from_.width,
        shape);
  Tensor lines = ctx.empty({shape[0], shape[2], shape[3], shape[1]}, images.dtype());
  kernels::permute(ctx, images, std::array{0, 2, 3, 1}, lines, GradMode::overwrite);
  lines = multiplied(ctx, lines, rows_, {0, 3, 2, 1});    // (N,W,C,H) to (N,H',C,W)
  return multiplied(ctx, lines, columns_, {0, 1, 3, 2});  // to (N,H',W',C)
}

}  // namespace learn::nn
