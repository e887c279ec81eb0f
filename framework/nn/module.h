#pragma once
#include "framework/autograd/var.h"
#include "framework/core/function_ref.h"
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

  /// Runs `forward`, in f32 if the module stays in it (`ParamStore::keep_f32`), and notifies the
  /// tape's observer.
  Var operator()(const Var& x);

  /// A description with its options: "Conv2d(3 -> 16, 3x3, stride 2)".
  [[nodiscard]] virtual std::string describe() const = 0;
  [[nodiscard]] const std::string& path() const noexcept { return place_.path; }

 protected:
  /// Marks the start of this module's parameters in the store.
  explicit Module(const Scope& scope);
  [[nodiscard]] virtual Var forward(const Var& x) = 0;
  /// Runs the call operator with `body` in place of `forward`: for call operators of two arguments,
  /// of which `second` may be undefined.
  Var run(const Var& x, const Var& second, FunctionRef<Var(const Var&, const Var&)> body) const;

 private:
  const ModulePlace& place_;
};

/// A description without options: "Conv2d".
[[nodiscard]] std::string type_of(const Module& module);

}  // namespace learn::nn
