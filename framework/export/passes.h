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

/// Images that are flattened for linear layers alone are flattened as PyTorch does it, channels
/// first, and the columns of those layers' weights are put into that order; elsewhere the graph
/// moves the channels. Returns what was changed.
std::vector<FlattenedWeight> flatten_channels_first(Graph& graph);

/// Columns of a weight (K,C*H*W) from our order, (H,W,C), to PyTorch's, or, if `back`, the other
/// way.
void turn_columns(Weight& weight, const Shape& image, bool back = false);

/// Folds each batch normalisation into the convolution or linear layer whose output nothing else
/// takes, computing in f64. Others stay. Returns how many were folded.
int fold_batch_norm(Graph& graph);

/// Makes the graph take images of values in [0, 1]: (image - mean) / std comes first.
void normalize_first(Graph& graph, std::span<const float> mean, std::span<const float> std);

/// Gives the output another name, or, if something has that, it with a number behind it.
void rename_output(Graph& graph, const std::string& name);

/// Makes the graph give probabilities: a softmax over the classes, or a sigmoid of each label, by
/// the name "probabilities", comes last.
void end_in_softmax(Graph& graph);
void end_in_sigmoid(Graph& graph);

}  // namespace learn::exported
