#pragma once
#include "framework/export/graph.h"

#include <map>
#include <string>
#include <vector>

namespace learn::exported {

/// The layers and parameters of a graph as a tree of PyTorch modules, whose state dict has the
/// names of the graph's weights.
class PyTorchLayers {
 public:
  /// Throws UsageError, see `pytorch_module`.
  explicit PyTorchLayers(const Graph& graph);

  /// Returns the statements of `__init__` that create the layers.
  [[nodiscard]] std::string init() const;
  /// Returns the expression in `forward` for the layer of an operation, or for the parameter that
  /// is its second input.
  [[nodiscard]] std::string access(const Operation& operation) const;

 private:
  struct Tree {
    std::string leaf;  ///< the call that creates it; empty for a module with children
    std::vector<std::string> names;
    std::map<std::string, Tree> children;
    [[nodiscard]] bool is_list() const;
  };
  void add(const std::string& path, const std::string& leaf);
  [[nodiscard]] static std::string text_of(const Tree& tree, const std::string& indent);

  Tree root_;
};

/// Returns whether an operation is a layer of PyTorch, which holds its weights.
[[nodiscard]] bool has_layer(const Operation& operation);
/// Returns whether a convolution's padding is the same on opposite sides, as PyTorch's layer
/// requires.
[[nodiscard]] bool is_symmetric(const Conv2dOptions& options);
/// Returns a text as a Python literal. Bytes that are not UTF-8 become lone surrogates, as in
/// Python's file names.
[[nodiscard]] std::string python_text(const std::string& text);
/// Returns a text for a line of a docstring or comment, with everything that is not plain text
/// escaped.
[[nodiscard]] std::string python_words(const std::string& text);
/// Returns "3", or "(3, 5)".
[[nodiscard]] std::string python_pair(std::int64_t a, std::int64_t b);

}  // namespace learn::exported
