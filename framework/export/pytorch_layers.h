#pragma once
#include "framework/export/graph.h"

#include <map>
#include <string>
#include <vector>

namespace learn::exported {

/// The layers and parameters of a graph as a tree of PyTorch's modules, whose state dict has the
/// names of the graph's weights.
class PyTorchLayers {
 public:
  /// Throws UsageError, see `pytorch_module`.
  explicit PyTorchLayers(const Graph& graph);

  /// The statements of `__init__` that make them.
  [[nodiscard]] std::string init() const;
  /// How `forward` names the layer of an operation, or the parameter that is its second input.
  [[nodiscard]] std::string access(const Operation& operation) const;

 private:
  struct Tree {
    std::string leaf;  ///< what makes it; empty for one with children
    std::vector<std::string> names;
    std::map<std::string, Tree> children;
    [[nodiscard]] bool is_list() const;
  };
  void add(const std::string& path, const std::string& leaf);
  [[nodiscard]] static std::string text_of(const Tree& tree, const std::string& indent);

  Tree root_;
};

/// Whether a convolution's padding is the same on opposite sides, as PyTorch's layer has it.
[[nodiscard]] bool is_symmetric(const Conv2dOptions& options);
/// A text as a Python literal. Bytes that are not UTF-8 become lone surrogates, by which Python
/// knows them in names of files.
[[nodiscard]] std::string python_text(const std::string& text);
/// A text for a line of a docstring or comment, with all that is not plain text made visible.
[[nodiscard]] std::string python_words(const std::string& text);
/// "3", or "(3, 5)".
[[nodiscard]] std::string python_pair(std::int64_t a, std::int64_t b);

}  // namespace learn::exported
