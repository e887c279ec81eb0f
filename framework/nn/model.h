#pragma once
#include "framework/core/shape.h"
#include "framework/nn/module.h"
#include "framework/nn/param_store.h"

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace learn::nn {

/// A model with the store that owns its parameters. The parameters are declared; they get memory
/// and initial values from `params->materialize(ctx)`.
struct Model {
  std::string name;
  std::unique_ptr<ParamStore> params;
  std::unique_ptr<Module> module;
  Shape input;  ///< one sample, (H,W,C)
  int classes = 0;
  /// The model starts with a convolution and reads its input nowhere else, so that the input may be
  /// padded with channels of zeros (Batch::padding).
  bool takes_padding = false;
  /// Default layer groups for fine-tuning, for `ParamStore::set_layer_groups`: body, upper body,
  /// head. Empty if the model is too small for it.
  std::vector<std::string> split{};
};

/// A `Model` around an `M` constructed as `M(Scope, args...)`.
template <std::derived_from<Module> M, class... Args>
[[nodiscard]] Model make_model(std::string name, const Shape& input, int classes, Args&&... args) {
  auto params = std::make_unique<ParamStore>();
  auto module = std::make_unique<M>(Scope(*params), std::forward<Args>(args)...);
  return {std::move(name), std::move(params), std::move(module), input, classes};
}

}  // namespace learn::nn
