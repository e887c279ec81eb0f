#pragma once
#include "framework/core/dtype.h"
#include "framework/core/shape.h"
#include "framework/tensor/tensor.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace learn {

class Tape;

/// A value that is computed at its first use, so that the next operation may fuse it (ADR 0022).
/// Exists only without recording for a backward pass.
class Deferred {
 public:
  virtual ~Deferred() = default;
  [[nodiscard]] virtual const Shape& shape() const = 0;
  [[nodiscard]] virtual DType dtype() const = 0;
  [[nodiscard]] virtual Tensor compute() const = 0;
};

/// A value on a tape: a cheap handle, copied freely. The value's memory is held by the handles and
/// by the recorded operations that take it as an input, and is returned to its arena with the last
/// of them. A Var dies when its tape is reset or destroyed; using it afterwards throws an Error
/// that says so.
class Var {
 public:
  Var() = default;
  /// The value. Throws Error for a default-made or dead Var. A temporary Var moves its value out,
  /// because it may be the last owner.
  [[nodiscard]] const Tensor& value() const&;
  [[nodiscard]] Tensor value() && { return std::as_const(*this).value(); }
  [[nodiscard]] const Shape& shape() const&;
  [[nodiscard]] Shape shape() && { return std::as_const(*this).shape(); }
  [[nodiscard]] DType dtype() const;
  /// The deferred computation of the value; null if it is available.
  [[nodiscard]] const Deferred* deferred() const;
  [[nodiscard]] Tape& tape() const;
  /// Number of trailing channels that are zero padding and do not count as channels; see
  /// Tape::input.
  [[nodiscard]] std::int64_t padding() const;
  /// True if a backward pass will compute a gradient for it.
  [[nodiscard]] bool needs_grad() const;
  [[nodiscard]] bool defined() const noexcept { return content_ != nullptr; }
  /// Its number among the values of its tape, in the order they were made.
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }

 private:
  friend class Tape;
  struct Content {
    Tensor value;
    std::unique_ptr<const Deferred> deferred{};  ///< until the value is computed
    std::int64_t padding = 0;
    bool dead = false;  ///< its tape was reset or destroyed
  };
  Var(Tape& tape, std::uint32_t id, std::shared_ptr<Content> content)
      : tape_(&tape), content_(std::move(content)), id_(id) {}
  void check_alive() const;

  Tape* tape_ = nullptr;
  std::shared_ptr<Content> content_;
  std::uint32_t id_ = 0;
};

}  // namespace learn
