#include "framework/nn/init.h"

#include "framework/core/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>

namespace learn::nn::init {
namespace {

/// Four values from four random words.
using FromWords = std::array<double, 4> (*)(const Random4& words);

std::array<double, 4> four_uniform(const Random4& words) {
  std::array<double, 4> u{};
  for (std::size_t i = 0; i < 4; ++i) u[i] = static_cast<double>(uniform01(words.v[i]));
  return u;
}

std::array<double, 4> four_normal(const Random4& words) {
  std::array<double, 4> z{};
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    // In (0, 1]: the logarithm must not get 0.
    const double u = (static_cast<double>(words.v[pair]) + 1) * 0x1p-32;
    const double angle = 2 * std::numbers::pi * static_cast<double>(words.v[pair + 1]) * 0x1p-32;
    const double radius = std::sqrt(-2 * std::log(u));
    z[pair] = radius * std::cos(angle);
    z[pair + 1] = radius * std::sin(angle);
  }
  return z;
}

/// Element i = offset + scale * draw(words of block i / 4)[i % 4].
void fill(Tensor& values,
          std::uint64_t seed,
          std::uint64_t stream,
          FromWords draw,
          double offset,
          double scale) {
  const std::span<float> out = values.span<float>();
  for (std::size_t begin = 0; begin < out.size(); begin += 4) {
    const std::array<double, 4> drawn = draw(random4(seed, RandomPurpose::init, stream, begin / 4));
    const std::size_t count = std::min<std::size_t>(4, out.size() - begin);
    for (std::size_t i = 0; i < count; ++i)
      out[begin + i] = static_cast<float>(offset + scale * drawn[i]);
  }
}

void fill_uniform(
    Tensor& values, std::uint64_t seed, std::uint64_t stream, double low, double high) {
  fill(values, seed, stream, four_uniform, low, high - low);
}

double kaiming_std(const Shape& shape, double slope, FanMode mode) {
  const Fan fan = fan_of(shape);
  const auto connections = static_cast<double>(mode == FanMode::in ? fan.in : fan.out);
  return gain(ActivationKind::leaky_relu(static_cast<float>(slope))) / std::sqrt(connections);
}

double xavier_std(const Shape& shape, double gain) {
  const Fan fan = fan_of(shape);
  return gain * std::sqrt(2.0 / static_cast<double>(fan.in + fan.out));
}

}  // namespace

Fan fan_of(const Shape& shape) {
  check(shape.rank() >= 2,
        "fan in and fan out need at least two dimensions, the parameter has shape {}",
        shape);
  std::int64_t field = 1;
  for (int i = 1; i < shape.rank() - 1; ++i) field *= shape[i];
  return {field * shape[-1], field * shape[0]};
}

double gain(const ActivationKind& activation) {
  if (activation.name == ActivationKind::Name::identity) return 1;
  if (activation.name != ActivationKind::Name::leaky_relu) return std::numbers::sqrt2;
  const auto slope = static_cast<double>(activation.slope);
  return std::sqrt(2 / (1 + slope * slope));
}

Init constant(double value) {
  return [value](Tensor& values, std::uint64_t, std::uint64_t) {
    std::ranges::fill(values.span<float>(), static_cast<float>(value));
  };
}

Init zeros() { return constant(0); }
Init ones() { return constant(1); }

Init uniform(double low, double high) {
  return [low, high](Tensor& values, std::uint64_t seed, std::uint64_t stream) {
    fill_uniform(values, seed, stream, low, high);
  };
}

Init normal(double mean, double std) {
  return [mean, std](Tensor& values, std::uint64_t seed, std::uint64_t stream) {
    fill(values, seed, stream, four_normal, mean, std);
  };
}

Init kaiming_uniform(double slope, FanMode mode) {
  return [slope, mode](Tensor& values, std::uint64_t seed, std::uint64_t stream) {
    const double bound = std::numbers::sqrt3 * kaiming_std(values.shape(), slope, mode);
    fill_uniform(values, seed, stream, -bound, bound);
  };
}

Init kaiming_normal(double slope, FanMode mode) {
  return [slope, mode](Tensor& values, std::uint64_t seed, std::uint64_t stream) {
    fill(values, seed, stream, four_normal, 0, kaiming_std(values.shape(), slope, mode));
  };
}

Init xavier_uniform(double gain) {
  return [gain](Tensor& values, std::uint64_t seed, std::uint64_t stream) {
    const double bound = std::numbers::sqrt3 * xavier_std(values.shape(), gain);
    fill_uniform(values, seed, stream, -bound, bound);
  };
}

Init xavier_normal(double gain) {
  return [gain](Tensor& values, std::uint64_t seed, std::uint64_t stream) {
    fill(values, seed, stream, four_normal, 0, xavier_std(values.shape(), gain));
  };
}

namespace {

/// Makes filter `k` pass a channel through, or 0 if the input has fewer.
void pass_through(Tensor& values, std::int64_t k, std::int64_t channel) {
  const Shape& shape = values.shape();
  const std::int64_t size = shape[1] * shape[2] * shape[3];
  const auto filter = values.span<float>().subspan(static_cast<std::size_t>(k * size),
                                                   static_cast<std::size_t>(size));
  std::ranges::fill(filter, 0.0F);
  if (channel >= shape[3]) return;
  const std::int64_t middle = shape[1] / 2 * shape[2] + shape[2] / 2;
  filter[static_cast<std::size_t>(middle * shape[3] + channel)] = 1;
}

}  // namespace

Init dirac(std::int64_t groups) {
  return [groups](Tensor& values, std::uint64_t, std::uint64_t) {
    const Shape& shape = values.shape();
    check(shape.rank() == 4, "dirac needs a convolution weight (K,R,S,C/groups), got {}", shape);
    check(groups >= 1 && shape[0] % groups == 0,
          "dirac: {} groups do not divide the {} output channels",
          groups,
          shape[0]);
    const std::int64_t per_group = shape[0] / groups;
    for (std::int64_t k = 0; k < shape[0]; ++k) pass_through(values, k, k % per_group);
  };
}

Init dirac_first(Init rest) {
  return [rest = std::move(rest)](Tensor& values, std::uint64_t seed, std::uint64_t stream) {
    const Shape& shape = values.shape();
    check(shape.rank() == 4, "dirac needs a convolution weight (K,R,S,C), got {}", shape);
    rest(values, seed, stream);
    for (std::int64_t k = 0; k < std::min(shape[0], shape[3]); ++k) pass_through(values, k, k);
  };
}

Init default_weight() { return kaiming_uniform(std::sqrt(5.0)); }

Init default_bias(std::int64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return uniform(-bound, bound);
}

}  // namespace learn::nn::init
