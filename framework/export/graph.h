#pragma once
#include "framework/autograd/op_attributes.h"
#include "framework/core/shape.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Models for other runtimes (ADR 0025): the graph of a forward pass, and what is written of it.
namespace learn::exported {

/// A constant of a graph, f32: a parameter or buffer, or what was computed of such.
struct Weight {
  Shape shape;  ///< PyTorch's: a convolution's is (K,C,R,S)
  std::vector<float> values;
};

/// One operation. The names of most are those of `Node::name`, and their attributes too:
/// conv2d and linear with weight and, if there is one, bias; activations by their names; abs, exp,
/// log, sqrt, sigmoid, tanh; add, mul, sub, div, scale, add_bias, concat; max_pool2d, avg_pool2d. A
/// batch_norm has the inputs x, weight, bias, mean and variance, and neither activation nor
/// residual. reshape and flatten go in the order of PyTorch; to_nhwc and to_nchw move the channels
/// of an image; softmax is over classes.
struct Operation {
  std::string op;
  std::string module;               ///< path of the module that did it
  std::vector<std::string> inputs;  ///< names of values and weights
  std::string output;
  OpAttributes attributes;
};

/// A model's forward pass. Values hold a batch of any size: shapes are those of one sample, images
/// as (C,H,W).
struct Graph {
  std::string input = "image";
  std::string output = "logits";
  std::vector<Operation> operations;      ///< in the order they run
  std::map<std::string, Shape> values;    ///< by name, without the batch
  std::map<std::string, Weight> weights;  ///< by their names in a state dict

  [[nodiscard]] bool is_weight(std::string_view name) const {
    return weights.contains(std::string(name));
  }
  /// The places in `operations` that take `name` as an input.
  [[nodiscard]] std::vector<std::size_t> users(std::string_view name) const;
  /// A name that no value or weight has: `wish`, or with a number behind it.
  [[nodiscard]] std::string unused_name(const std::string& wish) const;
  /// Forgets weights that no operation takes.
  void drop_unused_weights();
};

}  // namespace learn::exported
