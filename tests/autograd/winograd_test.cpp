#include "framework/kernels/conv/conv.h"
#include "framework/kernels/conv/cpu/conv_winograd.h"
#include "tests/autograd/conv_paths.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

using namespace learn;
using namespace learn::kernels;
using learn::test::draw;
using learn::test::in_double;

namespace {

/// With `k` channels of results.
ConvGeometry geometry(const Shape& x,
                      std::int64_t k,
                      const Conv2dOptions& options,
                      std::int64_t window = 3) {
  return conv2d_geometry(x, {k, window, window, x[3]}, options);
}

// Operands are uniform in [-1, 1) and errors are relative to the results' rms. Rows of the matrices
// of F(4x4,3x3) sum up to 7 and 11 in magnitude, in each of two dimensions, and most of that
// cancels; so it loses 2 to 4 bits against the plain sum, whose largest errors here are 2e-6. Like
// those, its errors grow with the square root of the channels summed in one chain, at most 256
// (kDepth): the largest were 2.3e-5 for 272 channels, 2.2e-5 with stride 2 and 2.1e-5 with 5x5
// windows, over three seeds. Twice that is allowed; one dropped product in 9 * 272 would change a
// result by 2e-2.
constexpr double kAllowed = 5e-5;

void check(const ConvGeometry& g) {
  for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate})
    test::check_path(cpu::kWinogradPath, g, mode, kAllowed);
}

}  // namespace

TEST_CASE("Winograd agrees with the reference for every instruction set") {
  const Conv2dOptions same = Conv2dOptions::symmetric(1, 1);
  const Conv2dOptions none = Conv2dOptions::symmetric(1, 0);
  const Conv2dOptions uneven{.pad_top = 2, .pad_right = 2};
  const Conv2dOptions wide{.pad_top = 3, .pad_bottom = 4, .pad_left = 5, .pad_right = 3};
  for (const ConvGeometry& g : {geometry({3, 8, 8, 16}, 32, same),
                                geometry({2, 4, 4, 48}, 16, same),
                                geometry({1, 13, 7, 16}, 16, same),
                                geometry({2, 6, 9, 32}, 48, none),
                                geometry({2, 5, 5, 16}, 32, uneven),
                                geometry({2, 3, 3, 16}, 16, wide),
                                geometry({9, 8, 4, 16}, 80, same),
                                geometry({1, 1, 1, 32}, 16, same),
                                geometry({2, 7, 5, 17}, 30, same),
                                geometry({2, 6, 6, 40}, 23, same),
                                geometry({3, 8, 8, 30}, 290, same),
                                geometry({2, 8, 8, 272}, 144, same)})
    check(g);
}

TEST_CASE("Winograd with a window that moves by two pixels agrees with the reference") {
  const Conv2dOptions same = Conv2dOptions::symmetric(2, 1);
  const Conv2dOptions none = Conv2dOptions::symmetric(2, 0);
  const Conv2dOptions uneven{.stride_h = 2, .stride_w = 2, .pad_bottom = 1, .pad_left = 2};
  const Conv2dOptions wide{
      .stride_h = 2, .stride_w = 2, .pad_top = 3, .pad_bottom = 4, .pad_left = 5, .pad_right = 4};
  for (const ConvGeometry& g : {geometry({3, 16, 16, 16}, 32, same),
                                geometry({2, 8, 8, 48}, 16, same),
                                geometry({1, 13, 7, 16}, 16, same),
                                geometry({1, 14, 9, 32}, 48, none),
                                geometry({2, 7, 10, 16}, 32, uneven),
                                geometry({2, 3, 4, 16}, 16, wide),
                                geometry({1, 1, 1, 32}, 16, same),
                                geometry({2, 9, 11, 33}, 18, same),
                                geometry({2, 8, 8, 272}, 144, same)})
    check(g);
}

TEST_CASE("Winograd in groups agrees with the reference") {
  check(conv2d_geometry({2, 9, 6, 64}, {96, 3, 3, 16}, Conv2dOptions::symmetric(1, 1, 4)));
  check(conv2d_geometry({3, 8, 8, 66}, {46, 3, 3, 33}, Conv2dOptions::symmetric(2, 1, 2)));
  check(conv2d_geometry({1, 6, 6, 51}, {60, 5, 5, 17}, Conv2dOptions::symmetric(1, 2, 3)));
}

TEST_CASE("Winograd of 5x5 windows agrees with the reference") {
  const Conv2dOptions same = Conv2dOptions::symmetric(1, 2);
  const Conv2dOptions uneven{.pad_top = 4, .pad_right = 1};
  const Conv2dOptions wide{.pad_top = 5, .pad_bottom = 4, .pad_left = 6, .pad_right = 5};
  for (const ConvGeometry& g : {geometry({3, 8, 8, 16}, 32, same, 5),
                                geometry({1, 7, 9, 48}, 16, Conv2dOptions::symmetric(1, 0), 5),
                                geometry({2, 6, 5, 17}, 32, uneven, 5),
                                geometry({2, 3, 1, 16}, 30, wide, 5),
                                geometry({2, 8, 8, 272}, 144, same, 5)})
    check(g);
}

TEST_CASE("the direct path agrees with the reference for every instruction set") {
  // Sums of up to 2448 terms in f32: eps * sqrt(2448) is 3e-6.
  for (const ConvGeometry& g : {geometry({2, 8, 8, 272}, 144, Conv2dOptions::symmetric(2, 1)),
                                geometry({2, 5, 7, 3}, 33, Conv2dOptions::symmetric(1, 1))})
    test::check_path(cpu::kDirectPath, g, GradMode::accumulate, 1e-5);
}

TEST_CASE("products on the direct path agree with the reference") {
  const Conv2dOptions product = Conv2dOptions::symmetric(1, 0);
  // Gradients of weights in one task and in many: for panels, rows and chunks of pixels; with rows
  // that are copied and not; rows and panels that do not divide; images of one pixel.
  for (const ConvGeometry& g : {geometry({2, 9, 9, 130}, 300, product, 1),
                                geometry({40, 1, 1, 610}, 520, product, 1),
                                geometry({3, 20, 20, 70}, 577, product, 1),
                                geometry({5, 1, 1, 33}, 1030, product, 1),
                                geometry({2, 7, 5, 96}, 40, Conv2dOptions::symmetric(2, 1), 1)})
    for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate})
      test::check_path(cpu::kDirectPath, g, mode, 1e-5);  // sums of up to 1,200 terms
  test::check_path(cpu::kDirectPath,
                   conv2d_geometry({2, 12, 12, 128}, {512, 1, 1, 64}, {.groups = 2}),
                   GradMode::accumulate,
                   1e-5);
}

namespace {

/// A convolution of images, most of whose values are in [-1, 1), with one pixel of `bright`.
class BrightPixel {
 public:
  explicit BrightPixel(float bright) : x_(draw(g_.x_elements(), 1)) {
    std::fill_n(x_.begin() + (kAt * g_.w + kAt) * g_.c, g_.c, bright);
  }

  [[nodiscard]] std::vector<float> forward(bool winograd) const {
    Context ctx({.threads = 2, .winograd = winograd, .arena = {.guard = true}});
    Tensor x = empty(ctx, {g_.n, g_.h, g_.w, g_.c}), w = empty(ctx, {g_.k, 3, 3, g_.c});
    Tensor y = empty(ctx, {g_.n, g_.p, g_.q, g_.k});
    std::ranges::copy(x_, x.span<float>().begin());
    std::ranges::copy(w_, w.span<float>().begin());
    conv2d_forward(ctx, x, w, {}, y, g_.options);
    return {y.span<float>().begin(), y.span<float>().end()};
  }

  /// The error of the outputs that do not see the pixel, as a share of their L2 norm.
  [[nodiscard]] double error_elsewhere(bool winograd) const {
    const std::vector<float> y = forward(winograd);
    const std::vector<double> xd = in_double(x_), wd = in_double(w_);
    std::vector<double> expected(y.size());
    reference::conv2d_forward(
        {}, g_, xd.data(), wd.data(), static_cast<const double*>(nullptr), expected.data());
    double errors = 0, squares = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (sees(i)) continue;
      errors += std::pow(static_cast<double>(y[i]) - expected[i], 2);
      squares += std::pow(expected[i], 2);
    }
    return std::sqrt(errors / squares);
  }

  /// Outputs that are infinite or NaN: those that see the pixel, and others.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> not_finite(bool winograd) const {
    const std::vector<float> y = forward(winograd);
    std::int64_t seeing = 0, others = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (!std::isfinite(y[i])) ++(sees(i) ? seeing : others);
    return {seeing, others};
  }

  static constexpr std::int64_t kOutputs = 16;

 private:
  static constexpr std::int64_t kAt = 5;
  static Tensor empty(Context& ctx, const Shape& shape) { return ctx.empty(shape, DType::f32); }
  [[nodiscard]] bool sees(std::size_t output) const {
    const std::int64_t place = static_cast<std::int64_t>(output) / g_.k;
    return std::abs(place / g_.q - kAt) <= 1 && std::abs(place % g_.q - kAt) <= 1;
  }

  ConvGeometry g_ = geometry({1, 12, 12, 16}, kOutputs, Conv2dOptions::symmetric(1, 1));
  std::vector<float> x_, w_ = draw(g_.weight_elements(), 2);
};

}  // namespace

TEST_CASE("without Winograd an output is rounded only by its own window") {
  const BrightPixel image(1e4F);
  INFO("seed " << test::test_seed());
  // Sums of 144 products in f32: sqrt(144) roundings of 3e-8 each are 4e-7 of the largest.
  CHECK(image.error_elsewhere(false) < 4e-7);
  CHECK(image.error_elsewhere(true) > 1e-5);
}

TEST_CASE("without Winograd an infinite pixel reaches the nine outputs that see it, and no more") {
  const BrightPixel image(std::numeric_limits<float>::infinity());
  const auto [seeing, others] = image.not_finite(false);
  CHECK(seeing == 9 * BrightPixel::kOutputs);
  CHECK(others == 0);
  CHECK(image.not_finite(true).second > 0);
}

namespace {

/// Which of the three passes have the direct path's bits.
struct Direct {
  bool forward, data, weight;
  friend bool operator==(const Direct&, const Direct&) = default;
};

Direct direct_passes(const Shape& images,
                     std::int64_t k,
                     bool winograd,
                     const Conv2dOptions& options = Conv2dOptions::symmetric(1, 1)) {
  const ConvGeometry g = geometry(images, k, options);
  Context ctx(
      {.device = Device::cpu(), .threads = 2, .winograd = winograd, .arena = {.guard = true}});
  const cpu::ConvResources on{ctx.threads(), ctx.step(), cpu::simd::best_kernels()};
  const auto tensor = [&](const Shape& shape, std::uint64_t stream) {
    Tensor t = ctx.empty(shape, DType::f32);
    std::ranges::copy(draw(t.elements(), stream), t.span<float>().begin());
    return t;
  };
  const Tensor x = tensor({g.n, g.h, g.w, g.c}, 1), w = tensor({g.k, 3, 3, g.c}, 2);
  const Tensor dy = tensor({g.n, g.p, g.q, g.k}, 3);
  Tensor y = tensor(dy.shape(), 4), dx = tensor(x.shape(), 5), dw = tensor(w.shape(), 6);
  Tensor direct_y = tensor(dy.shape(), 4), direct_dx = tensor(x.shape(), 5);
  Tensor direct_dw = tensor(w.shape(), 6);
  conv2d_forward(ctx, x, w, {}, y, g.options);
  conv2d_backward_data(ctx, dy, w, dx, g.options, GradMode::accumulate);
  conv2d_backward_weight(ctx, x, dy, dw, g.options, GradMode::accumulate);
  const float* xs = x.data<float>();
  const float* ws = w.data<float>();
  const float* dys = dy.data<float>();
  cpu::direct_forward(on, g, xs, ws, nullptr, direct_y.data<float>(), nullptr);
  cpu::direct_backward_data(on, g, dys, ws, direct_dx.data<float>(), GradMode::accumulate);
  cpu::direct_backward_weight(on, g, xs, dys, direct_dw.data<float>(), GradMode::accumulate);
  return {std::ranges::equal(y.span<float>(), direct_y.span<float>()),
          std::ranges::equal(dx.span<float>(), direct_dx.span<float>()),
          std::ranges::equal(dw.span<float>(), direct_dw.span<float>())};
}

}  // namespace

TEST_CASE("without Winograd all three passes have the direct path's bits") {
  CHECK(direct_passes({2, 8, 8, 32}, 16, false) == Direct{true, true, true});
}

TEST_CASE("Winograd is used where its tiles pay for the transformed weights") {
  CHECK(direct_passes({3, 4, 4, 64}, 64, true) == Direct{true, true, true});
  CHECK(direct_passes({4, 4, 4, 64}, 64, true) == Direct{false, false, false});
  CHECK(direct_passes({2, 5, 8, 16}, 16, true) == Direct{false, false, false});
  CHECK(direct_passes({8, 4, 4, 64}, 72, true) == Direct{true, true, true});
  CHECK(direct_passes({9, 4, 4, 64}, 72, true) == Direct{false, false, false});
  CHECK(direct_passes({19, 4, 4, 272}, 512, true) == Direct{false, false, true});
  CHECK(direct_passes({20, 4, 4, 272}, 512, true) == Direct{false, false, false});
}

TEST_CASE("Winograd of a window that moves by two pixels is used for many and full tiles") {
  const Conv2dOptions two = Conv2dOptions::symmetric(2, 1);
  CHECK(direct_passes({3, 8, 8, 64}, 64, true, two) == Direct{true, true, true});
  CHECK(direct_passes({4, 8, 8, 64}, 64, true, two) == Direct{false, false, false});
  CHECK(direct_passes({8, 8, 10, 64}, 64, true, two) == Direct{true, true, true});
  CHECK(direct_passes({47, 8, 8, 64}, 72, true, two) == Direct{true, true, true});
  CHECK(direct_passes({48, 8, 8, 64}, 72, true, two) == Direct{false, false, false});
}
