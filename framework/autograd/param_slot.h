#pragma once
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <string>

namespace learn {

/// A parameter for the tape and the modules. The ParamStore owns it, never changes its address, and
/// points `value` and `grad` into its flat buffers.
struct ParamSlot {
  std::string name;  ///< unique in its store: "layers.3.conv.weight"
  /// The working copy of the model: the master itself, or a read-only half copy of it.
  Tensor value;
  Tensor grad;            ///< where the gradient belongs; the dtype of `value`
  bool widened = false;   ///< operations are given it cast to f32, though it is kept in halves
  bool trainable = true;  ///< false: no gradient is computed

  /// Whether `grad` holds a gradient, to which a backward pass adds; otherwise it overwrites.
  [[nodiscard]] bool has_grad() const noexcept { return has_grad_; }
  void drop_grad() noexcept { has_grad_ = false; }
  void adopt_grad() noexcept { has_grad_ = true; }

 private:
  bool has_grad_ = false;
};

}  // namespace learn
