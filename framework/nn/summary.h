#pragma once
#include "framework/nn/module.h"
#include "framework/nn/param_store.h"
#include "framework/runtime/context.h"

#include <string>

namespace learn::nn {

/// A table of the model's layers in the order they run: path, what it is, output shape with N for
/// the batch, parameters, their precision in the model, and whether they are trained. A layer that
/// runs again shows "shared" instead of a count. Then the totals, and any parameters that the
/// forward pass does not use. Runs one sample of shape `input`, zeros, in eval mode without
/// gradients, so nothing of the model changes. The store must have memory.
[[nodiscard]] std::string summary(Module& model,
                                  ParamStore& store,
                                  const Shape& input,
                                  Context& ctx);

}  // namespace learn::nn
