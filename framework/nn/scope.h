#pragma once
#include "framework/nn/param_store.h"

#include <string>
#include <string_view>
#include <utility>

namespace learn::nn {

/// The place of a module in its model: a store and a dotted path. A model's constructor takes one
/// and passes `scope / "name"` to its children; parameter names follow: "layers.3.conv.weight".
class Scope {
 public:
  explicit Scope(ParamStore& store) : store_(&store) {}

  [[nodiscard]] Scope operator/(std::string_view child) const {
    Scope scope = *this;
    scope.path_ = path_.empty() ? std::string(child) : path_ + "." + std::string(child);
    return scope;
  }
  [[nodiscard]] Scope operator/(int child) const { return *this / std::to_string(child); }
  /// Returns this scope for modules that compute in f32, with their children, even in a half model
  /// or under autocast (mmcv's force_fp32): `head_((scope / "head").in_f32(), 512, 10)`.
  [[nodiscard]] Scope in_f32() const {
    Scope scope = *this;
    scope.in_f32_ = true;
    return scope;
  }
  [[nodiscard]] bool is_in_f32() const noexcept { return in_f32_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] ParamStore& store() const noexcept { return *store_; }

  [[nodiscard]] Param param(std::string_view name,
                            const Shape& shape,
                            ParamRole role,
                            Init init) const {
    return store_->declare((*this / name).path(), shape, role, std::move(init));
  }
  [[nodiscard]] Buffer buffer(std::string_view name, const Shape& shape, double fill) const {
    return store_->declare_buffer((*this / name).path(), shape, fill);
  }

 private:
  ParamStore* store_;
  std::string path_;
  bool in_f32_ = false;
};

}  // namespace learn::nn
