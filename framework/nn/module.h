#pragma once
#include "framework/autograd/var.h"
#include "framework/nn/scope.h"

#include <string>
#include <string_view>

namespace learn::nn {

/// A piece of a model. Holds parameter handles and child modules by value, owns no memory, and does
/// not notice precision changing. Not copyable. Train or eval comes from the tape.
class Module {
 public:
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Runs `forward` and tells the tape's observer.
  Var operator()(const Var& x);

  /// What it is, with its options: "Conv2d(3 -> 16, 3x3, stride 2)".
  [[nodiscard]] virtual std::string describe() const = 0;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 protected:
  /// Marks in the store that this module's parameters begin here.
  explicit Module(const Scope& scope);
  [[nodiscard]] virtual Var forward(const Var& x) = 0;
  /// Tells the tape's observer, if there is one, that this module made `y` from `x`; returns `y`.
  /// For call operators of more than one argument.
  Var observed(const Var& x, const Var& y) const;

 private:
  std::string path_;
};

}  // namespace learn::nn
