#pragma once
#include "framework/kernels/conv/conv_geometry.h"
#include "framework/nn/init.h"
#include "framework/nn/layers/weight.h"
#include "framework/nn/module.h"

#include <cstdint>
#include <optional>

namespace learn::nn {

struct ConvOptions {
  std::int64_t kernel = 3;  ///< height and width
  std::int64_t stride = 1;
  /// On all four sides; unless given, kernel / 2, which keeps the size at stride 1 for odd kernels.
  std::optional<std::int64_t> pad{};
  std::int64_t groups = 1;
  bool bias = true;
  Init init = init::default_weight();
  bool weight_norm = false;  ///< see Weight
};

/// Convolution of (N,H,W,C) to (N,P,Q,K). Parameters: weight (K,R,S,C/groups), or
/// the two of Weight, bias (K).
class Conv2d final : public Module {
 public:
  /// Throws UsageError for extents below 1 or groups that do not divide the channels.
  Conv2d(const Scope& scope, std::int64_t in, std::int64_t out, const ConvOptions& options = {});
  /// A kernel that is not square, or any other geometry.
  Conv2d(const Scope& scope,
         std::int64_t in,
         std::int64_t out,
         std::int64_t kernel_h,
         std::int64_t kernel_w,
         const Conv2dOptions& geometry,
         bool bias = true,
         const Init& init = init::default_weight(),
         bool weight_norm = false);

  [[nodiscard]] std::string describe() const override;
  /// The convolution this layer does on images of shape `x`, (N,H,W,C).
  [[nodiscard]] ConvGeometry geometry(const Shape& x) const;

 protected:
  Var forward(const Var& x) override;

 private:
  std::int64_t in_, out_, kernel_h_, kernel_w_;
  Conv2dOptions geometry_;
  Weight weight_;
  Param bias_ = nullptr;
};

}  // namespace learn::nn
