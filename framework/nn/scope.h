#pragma once
#include "framework/nn/param_store.h"

#include <string>
#include <string_view>
#include <utility>

namespace learn::nn {

/// Where a module stands in its model: a store and a dotted path. A model's constructor takes one
/// and hands `scope / "name"` to its children; parameter names follow: "layers.3.conv.weight".
class Scope {
 public:
  explicit Scope(ParamStore& store) : store_(&store) {}

  [[nodiscard]] Scope operator/(std::string_view child) const {
    return {*store_, path_.empty() ? std::string(child) : path_ + "." + std::string(child)};
  }
  [[nodiscard]] Scope operator/(int child) const { return *this / std::to_string(child); }
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
  Scope(ParamStore& store, std::string path) : store_(&store), path_(std::move(path)) {}
  ParamStore* store_;
  std::string path_;
};

}  // namespace learn::nn
