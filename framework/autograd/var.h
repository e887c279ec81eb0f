#pragma once
#include "framework/tensor/tensor.h"

#include <cstdint>

namespace learn {

class Tape;

/// A value on a tape: a cheap handle, copied freely. It dies when its tape is reset; using it
/// afterwards throws an Error that says so.
class Var {
 public:
  Var() = default;
  /// The value. Throws Error for a default-made or dead Var.
  [[nodiscard]] const Tensor& value() const;
  [[nodiscard]] const Shape& shape() const { return value().shape(); }
  [[nodiscard]] DType dtype() const { return value().dtype(); }
  [[nodiscard]] Tape& tape() const;
  /// True if a backward pass will compute a gradient for it.
  [[nodiscard]] bool needs_grad() const;
  [[nodiscard]] bool defined() const noexcept { return tape_ != nullptr; }

 private:
  friend class Tape;
  Var(Tape& tape, std::uint32_t id, std::uint64_t generation)
      : tape_(&tape), generation_(generation), id_(id) {}
  Tape* tape_ = nullptr;
  std::uint64_t generation_ = 0;
  std::uint32_t id_ = 0;
};

}  // namespace learn
