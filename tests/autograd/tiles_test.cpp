#include "framework/kernels/conv/conv.h"
#include "framework/kernels/conv/conv_reference.h"
#include "framework/kernels/conv/cpu/conv_tiles.h"
#include "tests/autograd/conv_values.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace learn;
using namespace learn::kernels;

namespace {

std::vector<BFloat16> draw(std::int64_t n, std::uint64_t stream) {
  const std::vector<float> values = test::draw(n, stream);
  std::vector<BFloat16> rounded(values.size());
  std::transform(values.begin(), values.end(), rounded.begin(), to_bfloat16);
  return rounded;
}

std::vector<double> in_double(const std::vector<BFloat16>& v) {
  std::vector<double> values(v.size());
  std::transform(v.begin(), v.end(), values.begin(), [](BFloat16 x) {
    return static_cast<double>(to_float(x));
  });
  return values;
}

/// The largest error beyond the rounding of the result itself, at most 2^-8 of it, as a multiple of
/// the expected values' root mean square.
double worst_error(const std::vector<BFloat16>& got, const std::vector<double>& expected) {
  double worst = 0;
  double squares = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(to_float(got[i])) - expected[i]) -
                         0x1p-8 * std::abs(expected[i]);
    if (!(error <= worst)) worst = error;  // keeps a NaN
    squares += expected[i] * expected[i];
  }
  return worst / std::sqrt(squares / static_cast<double>(got.size()));
}

bool same_bits(const std::vector<BFloat16>& a, const std::vector<BFloat16>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), [](BFloat16 p, BFloat16 q) { return p.bits == q.bits; });
}

template <class Check>
void for_tile_kernels(Check check) {
  if (cpu::simd::best_tile_kernels() == nullptr)
    MESSAGE("neither AVX-512 BF16 nor AMX: the machine lacks them, or LEARN_ISA forbids them");
  for (const cpu::simd::TileKernels* tiles : cpu::simd::supported_tile_kernels().all)
    if (tiles != nullptr) check(*tiles);
}

struct Results {
  std::vector<BFloat16> y, dx, dw;
};

Results by_tiles(const cpu::simd::TileKernels& tiles,
                 const ConvGeometry& g,
                 GradMode mode,
                 int threads) {
  Context ctx(test::guarded(threads));
  const cpu::ConvResources on{ctx.threads(), ctx.step(), cpu::simd::best_kernels(), &tiles};
  Results r{draw(g.y_elements(), 5), draw(g.x_elements(), 6), draw(g.weight_elements(), 7)};
  const std::vector<BFloat16> x = draw(g.x_elements(), 1);
  const std::vector<BFloat16> w = draw(g.weight_elements(), 2);
  const std::vector<BFloat16> dy = draw(g.y_elements(), 3);
  const std::vector<BFloat16> bias = draw(g.k, 4);
  const bool with_bias = mode == GradMode::accumulate;
  cpu::tiles_forward(on, g, x.data(), w.data(), with_bias ? bias.data() : nullptr, r.y.data());
  cpu::tiles_backward_data(on, g, dy.data(), w.data(), r.dx.data(), mode);
  cpu::tiles_backward_weight(on, g, x.data(), dy.data(), r.dw.data(), mode);
  return r;
}

void check_case(const ConvGeometry& g) {
  for (const GradMode mode : {GradMode::overwrite, GradMode::accumulate}) {
    const std::vector<double> x = in_double(draw(g.x_elements(), 1));
    const std::vector<double> w = in_double(draw(g.weight_elements(), 2));
    const std::vector<double> dy = in_double(draw(g.y_elements(), 3));
    const std::vector<double> bias = in_double(draw(g.k, 4));
    std::vector<double> y = in_double(draw(g.y_elements(), 5));
    std::vector<double> dx = in_double(draw(g.x_elements(), 6));
    std::vector<double> dw = in_double(draw(g.weight_elements(), 7));
    const bool with_bias = mode == GradMode::accumulate;
    reference::conv2d_forward(
        {}, g, x.data(), w.data(), with_bias ? bias.data() : nullptr, y.data());
    reference::conv2d_backward_data({}, g, dy.data(), w.data(), dx.data(), mode);
    reference::conv2d_backward_weight({}, g, x.data(), dy.data(), dw.data(), mode);
    for_tile_kernels([&](const cpu::simd::TileKernels& tiles) {
      INFO(fmt::format("{}, {}, seed {}", tiles.name, test::text_of(g), test::test_seed()));
      const Results got = by_tiles(tiles, g, mode, 2);
      // Sums of up to 2600 exact products in f32: eps * sqrt(2600) is 3e-6.
      CHECK(worst_error(got.y, y) < 1e-5);
      CHECK(worst_error(got.dx, dx) < 1e-5);
      CHECK(worst_error(got.dw, dw) < 1e-5);
      const Results again = by_tiles(tiles, g, mode, 1);
      CHECK(same_bits(got.y, again.y));
      CHECK(same_bits(got.dx, again.dx));
      CHECK(same_bits(got.dw, again.dw));
    });
  }
}

constexpr Conv2dOptions square(std::int64_t stride, std::int64_t pad, std::int64_t groups = 1) {
  return Conv2dOptions::symmetric(stride, pad, groups);
}

}  // namespace

TEST_CASE("bf16 in tiles agrees with the reference, whatever the geometry") {
  SUBCASE("whole tiles") {
    check_case(conv2d_geometry({4, 4, 4, 32}, {64, 3, 3, 32}, square(1, 1)));
    check_case(conv2d_geometry({8, 4, 4, 64}, {32, 1, 1, 64}, square(1, 0)));
  }
  SUBCASE("several blocks of rows, depth, columns and pixels") {
    check_case(conv2d_geometry({3, 4, 5, 128}, {48, 3, 3, 128}, square(1, 1)));
    check_case(conv2d_geometry({3, 2, 2, 70}, {600, 1, 1, 70}, square(1, 0)));
    check_case(conv2d_geometry({3, 4, 4, 290}, {40, 3, 3, 290}, square(2, 1)));
  }
  SUBCASE("wide maps, whose taps are taken from a copy of the image") {
    check_case(conv2d_geometry({1, 20, 32, 32}, {16, 3, 3, 32}, square(1, 1)));
    check_case(conv2d_geometry({3, 5, 21, 64}, {20, 3, 3, 64}, square(1, 1)));
    check_case(conv2d_geometry({2, 40, 32, 32}, {16, 1, 1, 32}, square(1, 0)));
    check_case(conv2d_geometry({1, 5, 40, 64},
                               {32, 3, 5, 32},
                               {.pad_top = 3, .pad_left = 5, .pad_right = 1, .groups = 2}));
    check_case(conv2d_geometry({1, 34, 35, 32}, {40, 3, 3, 32}, square(2, 1)));
    check_case(conv2d_geometry({1, 3, 18, 48}, {24, 3, 2, 48}, square(1, 0)));
  }
  SUBCASE("tiles that are filled up") {
    check_case(conv2d_geometry({2, 9, 7, 3}, {16, 3, 3, 3}, square(1, 1)));
    check_case(conv2d_geometry({3, 5, 6, 5}, {33, 3, 3, 5}, square(1, 1)));
    check_case(conv2d_geometry({1, 5, 5, 17}, {11, 3, 3, 17}, square(1, 1)));
    check_case(conv2d_geometry({3, 1, 1, 40}, {10, 1, 1, 40}, square(1, 0)));
  }
  SUBCASE("strides, with pixels that no window reads") {
    check_case(conv2d_geometry({2, 8, 8, 16}, {24, 3, 3, 16}, square(2, 1)));
    check_case(conv2d_geometry({2, 7, 9, 8}, {16, 3, 3, 8}, square(3, 0)));
    check_case(conv2d_geometry({2, 6, 6, 20}, {16, 1, 1, 20}, square(2, 0)));
    check_case(conv2d_geometry(
        {1, 9, 7, 8}, {9, 3, 2, 8}, {.stride_h = 2, .stride_w = 3, .pad_top = 1, .pad_right = 1}));
  }
  SUBCASE("padding that differs on all sides, or exceeds the window") {
    check_case(conv2d_geometry({2, 5, 4, 8}, {16, 3, 3, 8}, {.pad_bottom = 2, .pad_left = 1}));
    check_case(conv2d_geometry(
        {1, 3, 3, 8},
        {16, 2, 2, 8},
        {.stride_w = 2, .pad_top = 3, .pad_bottom = 1, .pad_left = 2, .pad_right = 4}));
  }
  SUBCASE("maps smaller than the window") {
    check_case(conv2d_geometry({5, 1, 1, 16}, {16, 3, 3, 16}, square(1, 1)));
    check_case(conv2d_geometry({5, 2, 2, 16}, {16, 5, 5, 16}, square(1, 2)));
  }
  SUBCASE("groups") {
    check_case(conv2d_geometry({2, 5, 5, 36}, {40, 3, 3, 18}, square(1, 1, 2)));
    check_case(conv2d_geometry({2, 6, 6, 15}, {27, 3, 3, 5}, square(2, 1, 3)));
  }
  SUBCASE("an empty batch") {
    const ConvGeometry g = conv2d_geometry({0, 4, 4, 16}, {16, 3, 3, 16}, square(1, 1));
    for_tile_kernels([&](const cpu::simd::TileKernels& tiles) {
      for (const BFloat16 value : by_tiles(tiles, g, GradMode::overwrite, 2).dw)
        CHECK(value.bits == 0);
    });
  }
}

TEST_CASE("bf16 in tiles passes infinities and NaN only to the results that depend on them") {
  const ConvGeometry g = conv2d_geometry({1, 6, 6, 16}, {16, 3, 3, 16}, square(1, 1));
  std::vector<BFloat16> x = draw(g.x_elements(), 1);
  x[0] = to_bfloat16(std::numeric_limits<float>::infinity());
  const std::vector<BFloat16> w = draw(g.weight_elements(), 2);
  for_tile_kernels([&](const cpu::simd::TileKernels& tiles) {
    INFO(tiles.name);
    Context ctx(test::guarded(1));
    const cpu::ConvResources on{ctx.threads(), ctx.step(), cpu::simd::best_kernels(), &tiles};
    std::vector<BFloat16> y(static_cast<std::size_t>(g.y_elements()));
    cpu::tiles_forward(on, g, x.data(), w.data(), nullptr, y.data());
    for (std::int64_t i = 0; i < g.y_elements(); ++i) {
      const std::int64_t pixel = i / g.k;
      const bool reached = pixel / g.q < 2 && pixel % g.q < 2;
      CHECK(std::isfinite(to_float(y[static_cast<std::size_t>(i)])) != reached);
    }
  });
}
