#pragma once
#include "framework/export/graph.h"
#include "framework/nn/module.h"

namespace learn::exported {

/// Returns the graph of what `model` computes for images of shape `sample` (H,W,C) in eval mode.
/// Runs one forward pass of a batch of zeros and records its operations, so custom models need no
/// separate description (ADR 0025). Values computed from parameters alone, such as weight norm,
/// become weights of the graph. The store must have memory, in f32, and is not changed. Throws
/// UsageError, which names the module, for an operation that graphs do not support, for one that
/// mixes the images of a batch or takes a value that is not a parameter, and for a model whose
/// output is not (N,classes).
[[nodiscard]] Graph trace(nn::Module& model, nn::ParamStore& store, const Shape& sample);

}  // namespace learn::exported
