#include "framework/tensorboard/histogram.h"

#include "tests/golden/tensorboard_values.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace learn::tensorboard;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("buckets end at TensorFlow's limits") {
  const std::vector<double>& limits = bucket_limits();
  CHECK(std::ranges::is_sorted(limits));
  REQUIRE(limits.size() % 2 == 1);
  const std::size_t zero = limits.size() / 2;
  CHECK(limits[zero] == 0);
  CHECK(limits[zero + 1] == 1e-12);
  CHECK(limits[zero + 2] == 1e-12 * 1.1);
  CHECK(limits.back() == std::numeric_limits<double>::max());
  CHECK(limits[limits.size() - 2] < 1e20);
  CHECK(limits[limits.size() - 2] * 1.1 >= 1e20);
  for (std::size_t i = 0; i <= zero; ++i) CHECK(limits[i] == -limits[limits.size() - 1 - i]);
}

TEST_CASE("counts and sums agree with PyTorch's writer") {
  for (const golden::Histogram& wanted : golden::histograms()) {
    const Histogram made = histogram(wanted.values);
    CHECK(made.min == wanted.min);
    CHECK(made.max == wanted.max);
    CHECK(made.finite == static_cast<std::int64_t>(wanted.values.size()));
    CHECK(made.not_finite == 0);
    // They sum in another order.
    CHECK(made.sum == doctest::Approx(wanted.sum).epsilon(1e-12));
    CHECK(made.sum_squares == doctest::Approx(wanted.sum_squares).epsilon(1e-12));
    CHECK(made.counts == wanted.counts);
    CHECK(made.limits == wanted.limits);
  }
}

TEST_CASE("every float is in the bucket of its value") {
  std::mt19937 random(7);
  std::vector<float> values{0.0F, -0.0F, 1e-12F, -1e-12F, 3e38F, -3e38F, 1e-45F, -1e-45F, 1e20F};
  for (const double limit : bucket_limits())
    if (std::abs(limit) < 1e38)
      for (const float x : {static_cast<float>(limit),
                            std::nextafter(static_cast<float>(limit), kInfinity),
                            std::nextafter(static_cast<float>(limit), -kInfinity)})
        values.push_back(x);
  for (int i = 0; i < 20000; ++i)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  const auto& limits = bucket_limits();
  for (const float value : values) {
    const Histogram one = histogram(std::array{value});
    if (!std::isfinite(value)) {
      CHECK(one.not_finite == 1);
      continue;
    }
    REQUIRE(one.limits.size() == 1);
    CHECK(one.limits[0] == *std::ranges::upper_bound(limits, static_cast<double>(value)));
    CHECK(one.counts[0] == 1);
  }
}

TEST_CASE("values that are not finite are counted and left out") {
  const Histogram some =
      histogram(std::array{1.0F, kInfinity, -2.0F, -kInfinity, std::nanf(""), 1.0F});
  CHECK(some.not_finite == 3);
  CHECK(some.finite == 3);
  CHECK(some.min == -2);
  CHECK(some.max == 1);
  CHECK(some.sum == 0);
  CHECK(some.sum_squares == 6);
  CHECK(some.counts == std::vector<double>{1, 0, 2});  // one for all that are empty
  CHECK(some.limits[0] > -2);
  CHECK(some.limits[1] <= 1);
  CHECK(some.limits[2] > 1);
  for (const Histogram& none : {histogram({}), histogram(std::array{std::nanf("")})}) {
    CHECK(none.finite == 0);
    CHECK(none.min == 0);
    CHECK(none.max == 0);
    CHECK(none.limits.empty());
    CHECK(none.counts.empty());
  }
}
