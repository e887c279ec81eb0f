#pragma once
#include "framework/kernels/conv/conv_reference.h"
#include "framework/kernels/conv/cpu/conv_direct.h"
#include "tests/autograd/conv_values.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <vector>

/// The CPU's paths of a convolution, compared with the reference in double.
namespace learn::test {

[[nodiscard]] inline std::vector<double> in_double(const std::vector<float>& v) {
  return {v.begin(), v.end()};
}

/// The largest error as a multiple of the expected values' root mean square.
[[nodiscard]] inline double worst_error(const std::vector<float>& got,
                                        const std::vector<double>& expected) {
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

/// A convolution's three passes in double, to compare others with.
class Expected {
 public:
  /// The forward pass has a bias if gradients accumulate.
  Expected(const ConvGeometry& g, GradMode mode) : g_(g), mode_(mode) {
    const std::vector<double> x = in_double(x_), w = in_double(w_), dy = in_double(dy_);
    const std::vector<double> bias = in_double(bias_);
    reference::conv2d_forward(
        {}, g_, x.data(), w.data(), with_bias() ? bias.data() : nullptr, y_.data());
    reference::conv2d_backward_data({}, g_, dy.data(), w.data(), dx_.data(), mode_);
    reference::conv2d_backward_weight({}, g_, x.data(), dy.data(), dw_.data(), mode_);
  }

  [[nodiscard]] Errors errors_of(const cpu::ConvPath& path,
                                 const cpu::simd::Kernels& kernels) const {
    Context ctx(guarded(2));
    const cpu::ConvResources on{ctx.threads(), ctx.step(), kernels};
    std::vector<float> y = y_before_, dx = dx_before_, dw = dw_before_;
    path.forward(
        on, g_, x_.data(), w_.data(), with_bias() ? bias_.data() : nullptr, y.data(), nullptr);
    path.backward_data(on, g_, dy_.data(), w_.data(), dx.data(), mode_);
    path.backward_weight(on, g_, x_.data(), dy_.data(), dw.data(), mode_);
    return {worst_error(y, y_), worst_error(dx, dx_), worst_error(dw, dw_)};
  }

 private:
  [[nodiscard]] bool with_bias() const { return mode_ == GradMode::accumulate; }

  ConvGeometry g_;
  GradMode mode_;
  std::vector<float> x_ = draw(g_.x_elements(), 1), w_ = draw(g_.weight_elements(), 2);
  std::vector<float> dy_ = draw(g_.y_elements(), 3), bias_ = draw(g_.k, 4);
  std::vector<float> y_before_ = draw(g_.y_elements(), 5), dx_before_ = draw(g_.x_elements(), 6);
  std::vector<float> dw_before_ = draw(g_.weight_elements(), 7);
  std::vector<double> y_ = in_double(y_before_), dx_ = in_double(dx_before_);
  std::vector<double> dw_ = in_double(dw_before_);
};

/// Checks all three passes of a path, for every instruction set whose kernels `fits` accepts.
template <class Fits>
void check_path(
    const cpu::ConvPath& path, const ConvGeometry& g, GradMode mode, double allowed, Fits&& fits) {
  const Expected expected(g, mode);
  for (const cpu::simd::Kernels* kernels : cpu::simd::supported_kernels().all) {
    if (kernels == nullptr || !fits(*kernels)) continue;
    INFO(fmt::format("{}: {}, seed {}", kernels->name, text_of(g), test_seed()));
    const Errors e = expected.errors_of(path, *kernels);
    CHECK(e.forward < allowed);
    CHECK(e.data < allowed);
    CHECK(e.weight < allowed);
  }
}

inline void check_path(const cpu::ConvPath& path,
                       const ConvGeometry& g,
                       GradMode mode,
                       double allowed) {
  check_path(path, g, mode, allowed, [](const cpu::simd::Kernels&) { return true; });
}

}  // namespace learn::test
