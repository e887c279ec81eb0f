#pragma once
#include "framework/nn/module.h"
#include "framework/nn/param_store.h"
#include "framework/runtime/context.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace learn::nn {

/// The cells of a layer, and their titles.
using LayerRow = std::array<std::string, 6>;
inline constexpr std::array<const char*, 6> kLayerColumns{
    "layer", "type", "output", "parameters", "precision", "trained"};

/// A model's layers in the order they run: path, what it is, output shape with N for
/// the batch and its dtype unless that is f32, parameters, their precision in the model, and
/// whether they are trained. A layer that runs again shows "shared" instead of a count. Then, in
/// lines, the totals, the modules that are kept in f32, and any parameters that the forward pass
/// does not use.
struct Summary {
  std::vector<LayerRow> layers;
  std::string totals;
};

/// Runs one sample of shape `input`, zeros, in eval mode without gradients, under autocast to
/// `autocast` if there is one, so nothing of the model changes. Throws UsageError if the store has
/// no memory.
[[nodiscard]] Summary summarize(Module& model,
                                ParamStore& store,
                                const Shape& input,
                                Context& ctx,
                                const std::optional<DType>& autocast = {});

/// The summary as a table for a terminal.
[[nodiscard]] std::string summary(Module& model,
                                  ParamStore& store,
                                  const Shape& input,
                                  Context& ctx,
                                  const std::optional<DType>& autocast = {});

}  // namespace learn::nn
