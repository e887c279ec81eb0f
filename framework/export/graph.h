#pragma once
#include "framework/autograd/op_attributes.h"
#include "framework/core/shape.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Models for other runtimes (ADR 0025): the graph of a forward pass, and the formats it is written
/// in.
namespace learn::exported {

/// A constant of a graph, f32: a parameter, a buffer, or a value computed from such constants.
struct Weight {
  Shape shape;  ///< in PyTorch's layout: (K,C,R,S) for a convolution
  std::vector<float> values;
};

/// One operation. Most names and attributes follow `Node::name`: conv2d and linear with a weight
/// and an optional bias; activations by their names; abs, exp, log, sqrt, sigmoid, tanh; add, mul,
/// sub, div, scale, add_bias, concat; max_pool2d, avg_pool2d. A batch_norm has the inputs x,
/// weight, bias, mean and variance, and neither activation nor residual. A layer_norm is over the
/// last dimension. reshape and flatten use PyTorch's order; to_nhwc and to_nchw move the channels
/// of an image; softmax is over classes.
struct Operation {
  std::string op;
  std::string module;               ///< path of the module that ran it
  std::vector<std::string> inputs;  ///< names of values and weights
  std::string output;
  OpAttributes attributes;
};

/// A model's forward pass. Values hold a batch of any size: shapes are per sample, (C,H,W) for
/// images.
struct Graph {
  std::string input = "image";
  std::string output = "logits";
  std::vector<Operation> operations;      ///< in execution order
  std::map<std::string, Shape> values;    ///< by name, without the batch dimension
  std::map<std::string, Weight> weights;  ///< by name in a state dict

  [[nodiscard]] bool is_weight(std::string_view name) const {
    return weights.contains(std::string(name));
  }
  /// Returns the indices in `operations` of those that take `name` as an input.
  [[nodiscard]] std::vector<std::size_t> users(std::string_view name) const;
  /// Returns a name that no value or weight has: `wish`, with a number appended if it is taken.
  [[nodiscard]] std::string unused_name(const std::string& wish) const;
  /// Drops weights that no operation takes.
  void drop_unused_weights();
};

}  // namespace learn::exported
