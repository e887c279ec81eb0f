#pragma once
#include "framework/export/graph.h"

#include <span>
#include <string>
#include <vector>

namespace learn::exported {

/// The weight of a linear layer whose columns are the pixels of an image.
struct FlattenedWeight {
  std::string name;
  Shape image;  ///< (C,H,W)
};

/// Flattens images channels first, as PyTorch does, where only linear layers take them, and
/// reorders the columns of those layers' weights to match. Elsewhere the graph moves the channels.
/// Returns the weights that were changed.
std::vector<FlattenedWeight> flatten_channels_first(Graph& graph);

/// Reorders the columns of a weight (K,C*H*W) from the order used here, (H,W,C), to PyTorch's, or
/// the other way if `back`.
void turn_columns(Weight& weight, const Shape& image, bool back = false);

/// Folds each batch normalization into the convolution or linear layer before it, computing in f64,
/// if nothing else takes that layer's output. Other batch normalizations stay. Returns the number
/// that were folded.
int fold_batch_norm(Graph& graph);

/// Makes the graph take images of values in [0, 1] by prepending (image - mean) / std.
void normalize_first(Graph& graph, std::span<const float> mean, std::span<const float> std);

/// Renames the output; appends a number if the name is taken.
void rename_output(Graph& graph, const std::string& name);

/// Makes the graph return probabilities, named "probabilities", by appending a softmax over the
/// classes, or a sigmoid of each label.
void end_in_softmax(Graph& graph);
void end_in_sigmoid(Graph& graph);

}  // namespace learn::exported
