#pragma once
#include "framework/nn/layers/batch_norm.h"
#include "framework/nn/layers/conv2d.h"

#include <cstdint>
#include <optional>
#include <string>

namespace learn::nn {

struct ConvBnActOptions {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::optional<std::int64_t> pad{};  ///< unless given, kernel / 2
  std::int64_t groups = 1;
  ActivationKind activation = ActivationKind::relu();
  /// With a residual: act(bn(conv(x)) + r), or else act(bn(conv(x))) + r.
  bool residual_before_activation = false;
  /// Weight norm and a bias instead of BatchNorm (fastai's NormType.Weight); see Weight.
  bool weight_norm = false;
  Init conv_init = init::default_weight();
  Init norm_init = init::ones();
  std::string conv_name = "conv";
  std::string norm_name = "bn";
};

/// A convolution without bias, then batch normalization with activation and residual in one
/// operation; or a convolution with weight norm and bias, then activation and residual. Children:
/// "conv" and "bn", or the names in the options; with weight norm only "conv".
class ConvBnAct final : public Module {
 public:
  ConvBnAct(const Scope& scope,
            std::int64_t in,
            std::int64_t out,
            const ConvBnActOptions& options = {});
  using Module::operator();
  Var operator()(const Var& x, const Var& residual);
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  Var with_residual(const Var& x, const Var& residual);

  ActivationKind activation_;
  bool residual_before_activation_;
  Conv2d conv_;
  std::optional<BatchNorm2d> norm_;
};

}  // namespace learn::nn
