// Compares the draws of Mix with their distributions.
#include "callbacks/mix/mix_draw.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <vector>

using namespace learn::callbacks;

namespace {

constexpr std::uint64_t kSeed = 20261129;
constexpr int kDraws = 100000;

std::vector<double> betas(double a) {
  std::vector<double> out;
  for (int batch = 0; batch < kDraws; ++batch)
    out.push_back(draw_beta(a, kSeed, static_cast<std::uint64_t>(batch)));
  return out;
}

/// The largest distance between the draws' distribution and `f` (Kolmogorov and Smirnov).
double distance(std::vector<double> draws, const std::function<double(double)>& f) {
  std::ranges::sort(draws);
  double out = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const double at = f(draws[i]) * kDraws;
    out = std::max({out, at - static_cast<double>(i), static_cast<double>(i) + 1 - at});
  }
  return out / kDraws;
}

/// The most standard deviations by which a mean of draws may be off.
constexpr double kDeviations = 5;

/// Pixels of the box, counted.
double share_outside(const MixDraw::Box& box, std::int64_t height, std::int64_t width) {
  double outside = 0;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      if (y < box.top || y >= box.bottom || x < box.left || x >= box.right) outside += 1;
  return outside / static_cast<double>(height * width);
}

}  // namespace

TEST_CASE("shares have the distribution Beta(a, a)") {
  // 2.3 / sqrt(n) is exceeded once in 20,000 samples.
  const double most = 2.3 / std::sqrt(kDraws);
  CHECK(distance(betas(1), [](double x) { return x; }) < most);
  CHECK(distance(betas(2), [](double x) { return x * x * (3 - 2 * x); }) < most);
  CHECK(distance(betas(0.5),
                 [](double x) { return 2 / std::numbers::pi * std::asin(std::sqrt(x)); }) < most);
  for (const double a : {0.001, 0.2, 0.4, 1.0, 3.0, 50.0}) {
    CAPTURE(a);
    const std::vector<double> draws = betas(a);
    // The variance, and the fourth central moment by the kurtosis.
    const double variance = 1 / (4 * (2 * a + 1));
    const double fourth = variance * variance * (3 - 6 / (2 * a + 3));
    double mean = 0, square = 0;
    for (const double x : draws) {
      CHECK(x >= 0);
      CHECK(x <= 1);
      mean += x / kDraws;
      square += (x - 0.5) * (x - 0.5) / kDraws;
    }
    CHECK(std::abs(mean - 0.5) < kDeviations * std::sqrt(variance / kDraws));
    CHECK(std::abs(square - variance) <
          kDeviations * std::sqrt((fourth - variance * variance) / kDraws) + 1e-12);
  }
}

TEST_CASE("a box is cut off at the edges and covers 1 minus the share elsewhere") {
  CHECK(box_around(16, 16, 0.75, 32, 32) == MixDraw::Box{8, 24, 8, 24});
  CHECK(box_around(0, 31, 0.75, 32, 32) == MixDraw::Box{0, 8, 23, 32});
  CHECK(box_around(2, 2, 0.64, 5, 5) == MixDraw::Box{1, 4, 1, 4});  // a side that is odd
  CHECK(box_around(3, 3, 0, 7, 7) == MixDraw::Box{0, 7, 0, 7});
  CHECK(box_around(3, 3, 1, 7, 7) == MixDraw::Box{3, 3, 3, 3});
}

TEST_CASE("CutMix's share is the part of the pixels that stay") {
  const MixOptions options{.mixup = 0, .cutmix = 1};
  int clipped = 0;
  for (std::uint64_t batch = 0; batch < 2000; ++batch) {
    const MixDraw draw = draw_mix(options, kSeed, batch, 9, 14);
    REQUIRE(draw.boxed);
    CHECK(draw.own == doctest::Approx(share_outside(draw.box, 9, 14)).epsilon(1e-12));
    clipped += draw.box.top == 0 || draw.box.right == 14 ? 1 : 0;
  }
  CHECK(clipped > 500);
}

TEST_CASE("the centre of a box is anywhere in the image") {
  std::vector<int> rows(8), columns(8);
  for (std::uint64_t batch = 0; batch < kDraws; ++batch) {
    const MixDraw draw = draw_mix({.mixup = 0, .cutmix = 1}, kSeed, batch, 8, 8);
    if (draw.box.bottom - draw.box.top != 1 || draw.box.right - draw.box.left != 1) continue;
    ++rows.at(static_cast<std::size_t>(draw.box.top));
    ++columns.at(static_cast<std::size_t>(draw.box.left));
  }
  // At 0 there are also boxes of two pixels, of which one is outside.
  for (const std::vector<int>& counts : {rows, columns}) {
    const double mean = std::accumulate(counts.begin() + 1, counts.end(), 0.0) / 7;
    CHECK(mean > 500);
    for (std::size_t i = 1; i < counts.size(); ++i)
      CHECK(std::abs(counts[i] - mean) < kDeviations * std::sqrt(mean));
  }
}

TEST_CASE("batches are mixed with probability p, half of them by either kind") {
  int mixed = 0, boxed = 0;
  for (std::uint64_t batch = 0; batch < kDraws; ++batch) {
    const MixDraw draw = draw_mix({.mixup = 1, .cutmix = 1, .p = 0.3}, kSeed, batch, 32, 32);
    mixed += draw.own != 1 || draw.boxed ? 1 : 0;
    boxed += draw.boxed ? 1 : 0;
  }
  CHECK(std::abs(mixed - 0.3 * kDraws) < kDeviations * std::sqrt(0.3 * 0.7 * kDraws));
  CHECK(std::abs(boxed - 0.5 * mixed) < kDeviations * std::sqrt(0.25 * mixed));
  for (std::uint64_t batch = 0; batch < 100; ++batch) {
    CHECK(draw_mix({.mixup = 1, .cutmix = 1, .p = 0}, kSeed, batch, 32, 32).own == 1);
    CHECK(draw_mix({.mixup = 0, .cutmix = 1}, kSeed, batch, 32, 32).boxed);
    CHECK(!draw_mix({.mixup = 1, .cutmix = 0}, kSeed, batch, 32, 32).boxed);
    CHECK(draw_beta(0.4, kSeed, batch) != draw_beta(0.4, kSeed + 1, batch));
  }
}
