#include "framework/nn/init.h"

#include "framework/tensor/factory.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

using namespace learn;
namespace init = learn::nn::init;

namespace {

struct Moments {
  double mean = 0, std = 0, low = 0, high = 0;
};

Tensor filled(const nn::Init& init, const Shape& shape, std::uint64_t seed = 7) {
  Arena host("test", cpu_pages());
  Tensor values = full(host, shape, DType::f32, -99);
  init(values, seed, 3);
  return values;
}

Moments moments(const nn::Init& init, const Shape& shape) {
  const Tensor values = filled(init, shape);
  const auto all = values.span<float>();
  Moments m{.low = all[0], .high = all[0]};
  for (const float v : all) {
    m.mean += static_cast<double>(v) / static_cast<double>(all.size());
    m.low = std::min(m.low, static_cast<double>(v));
    m.high = std::max(m.high, static_cast<double>(v));
  }
  for (const float v : all)
    m.std += std::pow(static_cast<double>(v) - m.mean, 2) / static_cast<double>(all.size());
  m.std = std::sqrt(m.std);
  return m;
}

const Shape kConv{64, 3, 3, 32};  // fan in 288, fan out 576, 18432 values

// The standard error of the mean of 18432 values is std / 136, that of the std at most std / 192:
// the bounds below are five of them or more.
void check_uniform(const nn::Init& init, const Shape& shape, double bound) {
  const Moments m = moments(init, shape);
  CHECK(std::abs(m.mean) < 0.03 * bound);
  CHECK(m.std == doctest::Approx(bound / std::numbers::sqrt3).epsilon(0.03));
  CHECK(m.low >= -bound);
  CHECK(m.high <= bound);
  CHECK(m.high > 0.99 * bound);
  CHECK(m.low < -0.99 * bound);
}

void check_normal(const nn::Init& init, const Shape& shape, double mean, double std) {
  const Moments m = moments(init, shape);
  CHECK(std::abs(m.mean - mean) < 0.04 * std);
  CHECK(m.std == doctest::Approx(std).epsilon(0.04));
  CHECK(m.high > mean + 3 * std);  // 18432 draws: 25 are expected beyond on each side
  CHECK(m.low < mean - 3 * std);
}

}  // namespace

TEST_CASE("fan in and fan out as PyTorch counts them") {
  CHECK(init::fan_of({64, 3, 5, 32}).in == 480);
  CHECK(init::fan_of({64, 3, 5, 32}).out == 960);
  CHECK(init::fan_of({10, 512}).in == 512);
  CHECK(init::fan_of({10, 512}).out == 10);
  CHECK_THROWS_WITH_AS(
      (void)init::fan_of({10}), doctest::Contains("at least two dimensions"), ShapeError);
}

TEST_CASE("gains") {
  CHECK(init::gain(ActivationKind::identity()) == 1);
  CHECK(init::gain(ActivationKind::relu()) == std::numbers::sqrt2);
  CHECK(init::gain(ActivationKind::leaky_relu(0.1F)) ==
        doctest::Approx(std::sqrt(2 / 1.01)).epsilon(1e-6));
}

TEST_CASE("ranges and moments of random initial values") {
  check_uniform(init::uniform(-2, 2), kConv, 2);
  check_uniform(init::default_weight(), kConv, 1 / std::sqrt(288.0));
  check_uniform(init::default_bias(288), {20000}, 1 / std::sqrt(288.0));
  check_uniform(init::kaiming_uniform(), kConv, std::sqrt(6 / 288.0));
  check_uniform(init::kaiming_uniform(0.1, init::FanMode::out), kConv, std::sqrt(6 / 1.01 / 576.0));
  check_uniform(init::xavier_uniform(), kConv, std::sqrt(6.0 / (288 + 576)));
  check_uniform(init::xavier_uniform(2), {100, 200}, 2 * std::sqrt(6.0 / 300));
  check_normal(init::normal(3, 0.5), kConv, 3, 0.5);
  check_normal(init::kaiming_normal(), kConv, 0, std::sqrt(2 / 288.0));
  check_normal(init::kaiming_normal(0, init::FanMode::out), kConv, 0, std::sqrt(2 / 576.0));
  check_normal(init::xavier_normal(), kConv, 0, std::sqrt(2.0 / (288 + 576)));
}

TEST_CASE("a normal draw has the normal distribution's shape and no repeated values") {
  const Tensor values = filled(init::normal(0, 1), {20000});
  int within_one = 0;
  std::set<float> seen;
  for (const float v : values.span<float>()) {
    within_one += std::abs(v) < 1 ? 1 : 0;
    seen.insert(v);
  }
  // Expected 13654 +- 66 (one standard deviation); five of them.
  CHECK(within_one > 13654 - 330);
  CHECK(within_one < 13654 + 330);
  // Values are spaced 2^-24 or finer, so a few of 20000 may meet; a repeated block would show.
  CHECK(seen.size() > 19900);
}

TEST_CASE("initial values depend on seed and stream alone") {
  Arena host("test", cpu_pages());
  const nn::Init init = init::kaiming_normal();
  const Tensor a = filled(init, {5, 3, 3, 3}, 1);
  CHECK(same_bits(a, filled(init, {5, 3, 3, 3}, 1)));
  CHECK(!same_bits(a, filled(init, {5, 3, 3, 3}, 2)));
  Tensor other = full(host, {5, 3, 3, 3}, DType::f32, 0);
  init(other, 1, 4);
  CHECK(!same_bits(a, other));
}

TEST_CASE("constants and dirac") {
  CHECK(get(filled(init::ones(), {3}), 2) == 1);
  CHECK(get(filled(init::zeros(), {3}), 2) == 0);
  CHECK(get(filled(init::constant(0.25), {3}), 2) == 0.25);
  // torch.nn.init.dirac_ of (6, 2, 3, 3) with groups=2: output channels 0 1 . 3 4 . have their one.
  const Tensor w = filled(init::dirac(2), {6, 3, 3, 2});
  double sum = 0;
  for (const float v : w.span<float>()) sum += static_cast<double>(v);
  CHECK(sum == 4);
  for (const auto& [k, c] : {std::pair{0, 0}, {1, 1}, {3, 0}, {4, 1}})
    CHECK(get(w, ((k * 3 + 1) * 3 + 1) * 2 + c) == 1);
  CHECK_THROWS_AS((void)filled(init::dirac(), {4, 4}), ShapeError);
  CHECK_THROWS_AS((void)filled(init::dirac(4), {6, 3, 3, 2}), ShapeError);
  // The first two filters pass on, the others are as they would be without them.
  const Tensor first = filled(init::dirac_first(init::default_weight()), {6, 3, 3, 2});
  const Tensor rest = filled(init::default_weight(), {6, 3, 3, 2});
  for (std::int64_t i = 0; i < first.elements(); ++i)
    CHECK(get(first, i) == (i >= 36 ? get(rest, i) : i == 8 || i == 18 + 9 ? 1 : 0));
  const Tensor narrow = filled(init::dirac_first(init::ones()), {1, 2, 2, 3});
  CHECK(get(narrow, 9) == 1);  // row 1, column 1, channel 0
  CHECK_THROWS_AS((void)filled(init::dirac_first(init::ones()), {4, 4}), ShapeError);
}
