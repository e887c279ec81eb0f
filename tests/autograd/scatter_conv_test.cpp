#include "framework/kernels/conv/conv.h"
#include "framework/kernels/conv/cpu/conv_scatter.h"
#include "tests/autograd/conv_paths.h"

#include <doctest/doctest.h>

using namespace learn;
using namespace learn::kernels;

namespace {

ConvGeometry geometry(const Shape& x, const Shape& weight, const Conv2dOptions& options) {
  return conv2d_geometry(x, weight, options);
}

}  // namespace

TEST_CASE("inputs of few channels agree with the reference for every instruction set") {
  const Conv2dOptions same = Conv2dOptions::symmetric(1, 1);
  const Conv2dOptions uneven{.stride_h = 1, .stride_w = 2, .pad_top = 2, .pad_right = 3};
  // One band and several; rows and columns that no window sees; windows that are mostly in the
  // padding, wider than the image, or do not overlap.
  for (const ConvGeometry& g :
       {geometry({2, 9, 7, 3}, {20, 3, 3, 3}, same),
        geometry({1, 70, 11, 1}, {5, 3, 3, 1}, same),
        geometry({1, 64, 33, 3}, {16, 7, 7, 3}, Conv2dOptions::symmetric(2, 3)),
        geometry({3, 12, 16, 2}, {9, 4, 4, 2}, Conv2dOptions::symmetric(4, 0)),
        geometry({2, 11, 13, 5}, {3, 2, 2, 5}, Conv2dOptions::symmetric(3, 0)),
        geometry({1, 3, 2, 8}, {7, 5, 5, 8}, Conv2dOptions::symmetric(1, 4)),
        geometry({2, 6, 140, 4}, {8, 1, 3, 4}, uneven)}) {
    REQUIRE(cpu::has_few_channels(g));
    // Sums of at most 980 terms: eps * sqrt(980) is 2e-6.
    for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate})
      test::check_path(cpu::kScatterPath, g, mode, 1e-5);
  }
}

TEST_CASE("few channels are at most eight of one group under a window") {
  const Conv2dOptions one = Conv2dOptions::symmetric(1, 0);
  CHECK(cpu::has_few_channels(geometry({1, 4, 4, 8}, {8, 1, 2, 8}, one)));
  CHECK_FALSE(cpu::has_few_channels(geometry({1, 4, 4, 9}, {8, 2, 2, 9}, one)));
  CHECK_FALSE(cpu::has_few_channels(geometry({1, 4, 4, 3}, {8, 1, 1, 3}, one)));
  CHECK_FALSE(cpu::has_few_channels(
      geometry({1, 4, 4, 8}, {8, 2, 2, 4}, Conv2dOptions::symmetric(1, 0, 2))));
}

TEST_CASE("the input's gradient has the same bits for any number of threads") {
  const ConvGeometry g = geometry({2, 64, 33, 3}, {16, 7, 7, 3}, Conv2dOptions::symmetric(2, 3));
  const std::vector<float> weight = test::draw(g.weight_elements(), 2);
  const std::vector<float> dy = test::draw(g.y_elements(), 3);
  std::vector<float> expected;
  for (const int threads : {1, 2}) {
    Context ctx(test::guarded(threads));
    std::vector<float> dx(static_cast<std::size_t>(g.x_elements()));
    cpu::scatter_backward_data({ctx.threads(), ctx.step(), cpu::simd::best_kernels()},
                               g,
                               dy.data(),
                               weight.data(),
                               dx.data(),
                               GradMode::overwrite);
    if (expected.empty()) expected = dx;
    CHECK(dx == expected);
  }
}

TEST_CASE("the input's gradient of an empty batch is empty") {
  const ConvGeometry g = geometry({0, 9, 7, 3}, {4, 3, 3, 3}, Conv2dOptions::symmetric(1, 1));
  Context ctx(test::guarded(2));
  float none = 1;
  cpu::scatter_backward_data({ctx.threads(), ctx.step(), cpu::simd::best_kernels()},
                             g,
                             &none,
                             std::vector<float>(108).data(),
                             &none,
                             GradMode::overwrite);
  CHECK(none == 1);
}
