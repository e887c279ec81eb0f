#pragma once
#include "framework/autograd/var.h"
#include "framework/nn/init.h"
#include "framework/nn/scope.h"

namespace learn::nn {

/// The weight (K,...) of a layer: a parameter "weight", or, by weight normalization (Salimans &
/// Kingma 2016), w = g v / ||v|| for each of its K outputs, of the parameters "weight_g" (K,1,...)
/// and "weight_v" (K,...), as PyTorch's weight_norm names and shapes them. At first w has the
/// values that the plain weight would have. g stays f32 in a half model.
///
/// Both are decayed, as in PyTorch and fastai. The decay of g is the one that w notices; that of v
/// keeps ||v||, which only grows otherwise, and with it the rate at which directions change.
class Weight {
 public:
  /// An empty weight, to be assigned to.
  Weight() = default;
  /// With `weight_norm`, materializing throws UsageError if `init` makes an output all zeros: it
  /// would have no direction.
  Weight(const Scope& scope, const Shape& shape, const Init& init, bool weight_norm);

  [[nodiscard]] Var on(Tape& tape) const;
  /// "", or ", weight norm": for descriptions.
  [[nodiscard]] const char* note() const noexcept { return g_ == nullptr ? "" : ", weight norm"; }

 private:
  Param v_ = nullptr;  ///< the weight itself without g
  Param g_ = nullptr;
};

}  // namespace learn::nn
