#pragma once
#include "framework/nn/module.h"
#include "framework/nn/param_store.h"
#include "framework/runtime/context.h"

#include <optional>
#include <string>

namespace learn::nn {

/// A table of the model's layers in the order they run: path, what it is, output shape with N for
/// the batch and its dtype unless that is f32, parameters, their precision in the model, and
/// whether they are trained. A layer that runs again shows "shared" instead of a count. Then the
/// totals, the modules that are kept in f32, and any parameters that the forward pass does not use.
/// Runs one sample of shape `input`, zeros, in eval mode without gradients, under autocast to
/// `autocast` if there is one, so nothing of the model changes. The store must have memory.
[[nodiscard]] std::string summary(Module& model,
                                  ParamStore& store,
                                  const Shape& input,
                                  Context& ctx,
                                  const std::optional<DType>& autocast = {});

}  // namespace learn::nn
