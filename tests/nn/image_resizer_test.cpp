#include "framework/nn/image_resizer.h"

#include "framework/kernels/augment/image_steps.h"
#include "framework/kernels/augment/work_memory.h"
#include "framework/tensor/factory.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace learn;
using nn::ImageResizer;

namespace {

using Size = ImageResizer::Size;

/// The row of pixels in a height of 4, resized.
std::vector<double> resized_row(const std::vector<double>& row, std::int64_t width) {
  Context ctx(ContextOptions{.threads = 1});
  const auto from = static_cast<std::int64_t>(row.size());
  std::vector<double> pixels;
  for (int line = 0; line < 4; ++line) pixels.insert(pixels.end(), row.begin(), row.end());
  const Tensor images = test::put_values(ctx, {1, 4, from, 1}, pixels, DType::f64);
  const Tensor out = ImageResizer(ctx, {4, from}, {4, width}, DType::f64)(ctx, images);
  std::vector<double> values;
  for (std::int64_t i = 0; i < width; ++i) values.push_back(get(out, i));
  return values;
}

std::vector<std::uint8_t> resized_bytes(const std::vector<std::uint8_t>& pixels,
                                        Size from,
                                        Size to,
                                        std::int32_t channels) {
  const auto axis = [](std::int64_t in, std::int64_t out) {
    return image::scaled(static_cast<std::int32_t>(in), static_cast<std::int32_t>(out));
  };
  const image::Axis rows = axis(from.height, to.height);
  const image::Axis columns = axis(from.width, to.width);
  image::WorkMemory needed;
  needed.scale(rows, columns, channels);
  std::vector<std::uint16_t> lines(static_cast<std::size_t>(needed.lines));
  std::vector<std::int32_t> taps(static_cast<std::size_t>(needed.taps));
  std::vector<std::uint8_t> out(static_cast<std::size_t>(to.height * to.width * channels));
  cpu::resize({pixels.data(), from.width * channels},
              channels,
              rows,
              columns,
              {lines.data(), taps.data()},
              out.data());
  return out;
}

}  // namespace

// torch.nn.functional.interpolate(mode="bilinear", antialias=True, align_corners=False) of PyTorch
// 2.15, in double. Weights here are multiples of 1/65536.
TEST_CASE("image resizer: PyTorch's values") {
  const std::vector<double> row{3, -1, 4, 1, -5, 9, 2, 6};
  const auto agrees = [&](const std::vector<double>& expected) {
    const auto got = resized_row(row, static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(std::abs(got[i] - expected[i]) < 4 * 9.0 / 65536);  // weights of values up to 9
  };
  agrees({1.8, 1.5, 1.27272727272727, -0.63636363636364, 5.5, 4.8});
  agrees({1.5, 0.95238095238095, 4.26315789473684});
  agrees({3, 1, -1.0 / 6, 19.0 / 6, 2.5, 0, -4, 2, 47.0 / 6, 19.0 / 6, 4, 6});
}

TEST_CASE("image resizer: images of a data set are resized alike, on any device") {
  constexpr std::int32_t kChannels = 3;
  const auto sizes = {std::pair{Size{32, 32}, Size{24, 24}},
                      std::pair{Size{9, 14}, Size{5, 14}},
                      std::pair{Size{9, 14}, Size{9, 3}},
                      std::pair{Size{6, 5}, Size{13, 11}},
                      std::pair{Size{4, 3}, Size{1, 1}}};
  for (const auto& [from, to] : sizes) {
    std::vector<std::uint8_t> bytes(
        static_cast<std::size_t>(2 * from.height * from.width * kChannels));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::uint8_t>(i * i % 251);
    for (const DType dtype : {DType::f32, DType::f16}) {
      CAPTURE(dtype);
      Context ctx(test::fast_context(2));
      const Shape shape{2, from.height, from.width, kChannels};
      const Tensor images =
          test::put_values(ctx, shape, std::vector<double>(bytes.begin(), bytes.end()), dtype);
      const Tensor out = ImageResizer(ctx, from, to, dtype)(ctx, images);
      REQUIRE(out.shape() == Shape{2, to.height, to.width, kChannels});
      const std::size_t one = bytes.size() / 2;
      std::int64_t at = 0;
      for (std::size_t n = 0; n < 2; ++n) {
        const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(n * one);
        const std::vector<std::uint8_t> expected =
            resized_bytes({first, first + static_cast<std::ptrdiff_t>(one)}, from, to, kChannels);
        // Bytes are rounded to halves of one; an f16 of 250 to a sixteenth, twice, weights too.
        const double allowed = dtype == DType::f32 ? 0.51 : 0.75;
        for (const std::uint8_t byte : expected)
          CHECK(std::abs(test::fetch(ctx, out, at++) - static_cast<double>(byte)) < allowed);
      }
    }
  }
}

TEST_CASE("image resizer: other sizes and dtypes are refused") {
  Context ctx(test::fast_context(1));
  const ImageResizer resizer(ctx, {4, 6}, {2, 3}, DType::f32);
  CHECK(resizer.is({4, 6}, {2, 3}, DType::f32));
  CHECK_FALSE(resizer.is({6, 4}, {2, 3}, DType::f32));
  CHECK_FALSE(resizer.is({4, 6}, {3, 2}, DType::f32));
  CHECK_FALSE(resizer.is({4, 6}, {2, 3}, DType::f16));
  const auto refused = [&](const Shape& shape) {
    CHECK_THROWS_WITH_AS((void)resizer(ctx, test::put_uniform(ctx, shape, DType::f32, 0, 1, 1)),
                         doctest::Contains("the images must be (N,4,6,C), not"),
                         ShapeError);
  };
  refused({1, 6, 4, 3});
  refused({4, 6, 3});
  CHECK_THROWS_AS((void)resizer(ctx, test::put_uniform(ctx, {1, 4, 6, 3}, DType::f16, 0, 1, 1)),
                  DTypeError);
  CHECK_THROWS_WITH_AS(ImageResizer(ctx, {4, 6}, {0, 3}, DType::f32),
                       doctest::Contains("4 pixels cannot become 0"),
                       UsageError);
  CHECK(resizer(ctx, test::put_uniform(ctx, {0, 4, 6, 3}, DType::f32, 0, 1, 1)).shape() ==
        Shape{0, 2, 3, 3});
}
