#include "framework/kernels/conv/conv.h"
#include "framework/kernels/conv/conv_reference.h"
#include "framework/kernels/conv/cpu/conv_winograd.h"
#include "tests/autograd/conv_values.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace learn;
using namespace learn::kernels;
using learn::test::draw;

namespace {

std::vector<double> in_double(const std::vector<float>& v) { return {v.begin(), v.end()}; }

/// The largest error as a multiple of the expected values' root mean square.
double worst_error(const std::vector<float>& got, const std::vector<double>& expected) {
  double worst = 0;
  double squares = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - expected[i]);
    if (!(error <= worst)) worst = error;  // keeps a NaN
    squares += expected[i] * expected[i];
  }
  return worst / std::sqrt(squares / static_cast<double>(got.size()));
}

struct Errors {
  double forward, data, weight;
};

/// One path of the CPU implementation against the reference in double.
struct Path {
  decltype(&cpu::winograd_forward) forward;
  decltype(&cpu::winograd_backward_data) data;
  decltype(&cpu::winograd_backward_weight) weight;
};
constexpr Path kWinograd{
    cpu::winograd_forward, cpu::winograd_backward_data, cpu::winograd_backward_weight};
constexpr Path kDirect{cpu::direct_forward, cpu::direct_backward_data, cpu::direct_backward_weight};

Errors errors_of(const Path& path,
                 const cpu::simd::Kernels& kernels,
                 const ConvGeometry& g,
                 GradMode mode) {
  Context ctx(test::guarded(2));
  const cpu::ConvResources on{ctx.threads(), ctx.step(), kernels};
  const std::vector<float> x = draw(g.x_elements(), 1);
  const std::vector<float> w = draw(g.weight_elements(), 2);
  const std::vector<float> dy = draw(g.y_elements(), 3);
  const std::vector<float> bias = draw(g.k, 4);
  std::vector<float> y = draw(g.y_elements(), 5);
  std::vector<float> dx = draw(g.x_elements(), 6);
  std::vector<float> dw = draw(g.weight_elements(), 7);
  const std::vector<double> xd = in_double(x), wd = in_double(w), dyd = in_double(dy);
  const std::vector<double> biasd = in_double(bias);
  std::vector<double> yd = in_double(y), dxd = in_double(dx), dwd = in_double(dw);
  const bool with_bias = mode == GradMode::accumulate;
  path.forward(on, g, x.data(), w.data(), with_bias ? bias.data() : nullptr, y.data());
  path.data(on, g, dy.data(), w.data(), dx.data(), mode);
  path.weight(on, g, x.data(), dy.data(), dw.data(), mode);
  reference::conv2d_forward(
      {}, g, xd.data(), wd.data(), with_bias ? biasd.data() : nullptr, yd.data());
  reference::conv2d_backward_data({}, g, dyd.data(), wd.data(), dxd.data(), mode);
  reference::conv2d_backward_weight({}, g, xd.data(), dyd.data(), dwd.data(), mode);
  return {worst_error(y, yd), worst_error(dx, dxd), worst_error(dw, dwd)};
}

/// With windows of 3 x 3 and `k` channels of results.
ConvGeometry geometry(const Shape& x, std::int64_t k, const Conv2dOptions& options) {
  return conv2d_geometry(x, {k, 3, 3, x[3]}, options);
}

// Operands are uniform in [-1, 1) and errors are relative to the results' rms. Rows of B^T and A^T
// sum up to 10 and 19 in magnitude, in each of two dimensions, and most of that cancels; so
// F(4x4,3x3) loses 3 to 5 bits against the plain sum, whose largest errors here are 2e-6. Like
// those, its errors grow with the square root of the channels summed in one chain, at most 256
// (kDepth): the largest were 2.4e-5 for 80 channels and 7.5e-5 for 272, over three seeds. Twice
// that is allowed; one dropped product in 9 * 272 would change a result by 2e-2.
constexpr double kAllowed = 1.5e-4;

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
                                geometry({2, 8, 8, 272}, 144, same)}) {
    for (const cpu::simd::Kernels* kernels : cpu::simd::supported_kernels().all) {
      if (kernels == nullptr) continue;
      for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate}) {
        INFO(fmt::format("{}: {}, seed {}", kernels->name, test::text_of(g), test::test_seed()));
        const Errors e = errors_of(kWinograd, *kernels, g, mode);
        CHECK(e.forward < kAllowed);
        CHECK(e.data < kAllowed);
        CHECK(e.weight < kAllowed);
      }
    }
  }
}

TEST_CASE("the direct path agrees with the reference for every instruction set") {
  // Sums of up to 2448 terms in f32: eps * sqrt(2448) is 3e-6.
  for (const ConvGeometry& g : {geometry({2, 8, 8, 272}, 144, Conv2dOptions::symmetric(2, 1)),
                                geometry({2, 5, 7, 3}, 33, Conv2dOptions::symmetric(1, 1))})
    for (const cpu::simd::Kernels* kernels : cpu::simd::supported_kernels().all) {
      if (kernels == nullptr) continue;
      INFO(kernels->name);
      const Errors e = errors_of(kDirect, *kernels, g, GradMode::accumulate);
      CHECK(e.forward < 1e-5);
      CHECK(e.data < 1e-5);
      CHECK(e.weight < 1e-5);
    }
}
