#pragma once
#include "framework/core/function_ref.h"
#include "framework/nn/module.h"

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace learn::nn {

/// Modules of any kind, one after the other, named "0", "1", ...
class Sequential final : public Module {
 public:
  explicit Sequential(const Scope& scope) : Module(scope), scope_(scope) {}
  /// Filled immediately by `fill(*this)`, for members of a model: each must be complete before the
  /// next.
  Sequential(const Scope& scope, FunctionRef<void(Sequential&)> fill) : Sequential(scope) {
    fill(*this);
  }

  /// Constructs an `M` as `M(scope, args...)` at the end, and returns it. Finish one module before
  /// the next is added: parameters are laid out in the order of their declaration.
  template <std::derived_from<Module> M, class... Args>
  M& emplace(Args&&... args) {
    auto owned = std::make_unique<M>(scope_ / size(), std::forward<Args>(args)...);
    M& module = *owned;
    modules_.push_back(std::move(owned));
    return module;
  }

  [[nodiscard]] int size() const noexcept { return static_cast<int>(modules_.size()); }
  /// Throws UsageError for an index out of range.
  [[nodiscard]] Module& operator[](int i) const;
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  Scope scope_;
  std::vector<std::unique_ptr<Module>> modules_;
};

}  // namespace learn::nn
