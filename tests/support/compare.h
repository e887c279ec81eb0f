#pragma once
#include "framework/tensor/tensor.h"

#include <string>

namespace learn {

/// The result of a comparison; `text` names the worst element, both values and the allowed error.
struct Comparison {
  bool equal = false;
  std::string text;
  explicit operator bool() const noexcept { return equal; }
};

/// |a - b| <= absolute + relative * |b| for every element of two host tensors of one shape, any
/// dtypes. NaN equals NaN only; infinities must agree.
[[nodiscard]] Comparison all_close(const Tensor& a,
                                   const Tensor& b,
                                   double relative,
                                   double absolute);
/// Whether bytes, dtype and shape are equal.
[[nodiscard]] Comparison same_bits(const Tensor& a, const Tensor& b);

}  // namespace learn
