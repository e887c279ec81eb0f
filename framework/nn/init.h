#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/nn/param_store.h"

#include <cstdint>

/// Initial values of parameters, with PyTorch's formulas (torch.nn.init). Element i of a parameter
/// is drawn from word i % 4 of random4(seed, RandomPurpose::init, stream, i / 4), so the values
/// depend on the seed and the parameter's name alone.
namespace learn::nn::init {

/// Connections per output and per input of a weight.
struct Fan {
  std::int64_t in = 1;
  std::int64_t out = 1;
};

/// Fan of a convolution weight (K,R,S,C/groups): in = R*S*C/groups, out = R*S*K, as in PyTorch; of
/// a linear weight (K,C): in = C, out = K. Throws ShapeError for less than two dimensions.
[[nodiscard]] Fan fan_of(const Shape& shape);

/// The gain of an activation, which keeps the variance: 1 for identity, sqrt(2) for relu, sqrt(2 /
/// (1 + slope^2)) for leaky_relu, and relu's for those that PyTorch does not define, such as gelu
/// and silu.
[[nodiscard]] double gain(const ActivationKind& activation);

[[nodiscard]] Init constant(double value);
[[nodiscard]] Init zeros();
[[nodiscard]] Init ones();
/// Uniform in [low, high).
[[nodiscard]] Init uniform(double low, double high);
/// Normal, by Box and Muller's method.
[[nodiscard]] Init normal(double mean, double std);

/// Which of the two fans keeps its variance: `in` that of the forward pass, `out` of the backward.
enum class FanMode : std::uint8_t { in, out };

/// He et al. 2015: std = sqrt(2 / (1 + slope^2) / fan); uniform in +-sqrt(3) * std, or normal.
/// `slope` is PyTorch's `a`, the leaky relu's factor of negative inputs.
[[nodiscard]] Init kaiming_uniform(double slope = 0, FanMode mode = FanMode::in);
[[nodiscard]] Init kaiming_normal(double slope = 0, FanMode mode = FanMode::in);
/// Glorot and Bengio 2010: std = gain * sqrt(2 / (fan in + fan out)).
[[nodiscard]] Init xavier_uniform(double gain = 1);
[[nodiscard]] Init xavier_normal(double gain = 1);
/// A convolution (K,R,S,C/groups) that passes its input through: 1 at the kernel's middle from
/// input channel d to output channel d of each group, 0 elsewhere. Throws ShapeError for other
/// ranks or if `groups` does not divide K.
[[nodiscard]] Init dirac(std::int64_t groups = 1);

/// A convolution (K,R,S,C) whose first C filters (or all K, if they are fewer) pass their input
/// through and whose others are drawn by `rest`.
[[nodiscard]] Init dirac_first(Init rest);

/// The initial values of PyTorch's Conv2d and Linear: weights kaiming_uniform(sqrt(5)), which is
/// uniform in +-1/sqrt(fan in), and biases in the same range.
[[nodiscard]] Init default_weight();
[[nodiscard]] Init default_bias(std::int64_t fan_in);

}  // namespace learn::nn::init
