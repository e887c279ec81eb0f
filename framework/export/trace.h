#pragma once
#include "framework/export/graph.h"
#include "framework/nn/module.h"

namespace learn::exported {

/// The graph of what `model` does with images of shape `sample` (H,W,C) in eval mode: one forward
/// pass of a batch of zeros is run and its operations are written down, so a model of one's own
/// needs no description of its own (ADR 0025). What is computed of parameters alone, weight norm
/// for one, is a weight of the graph. The store must have memory, in f32, and is not changed.
/// Throws UsageError, which names the module, for an operation that the graph does not know, for
/// one that mixes the images of a batch or takes a value that is no parameter, and for a model
/// whose output is not (N,classes).
[[nodiscard]] Graph trace(nn::Module& model, nn::ParamStore& store, const Shape& sample);

}  // namespace learn::exported
