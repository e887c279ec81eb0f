#pragma once
#include "framework/autograd/op_attributes.h"
#include "framework/autograd/var.h"

#include <string_view>
#include <vector>

namespace learn {

/// One recorded operation. Its members are what its backward needs, and nothing more.
class Node {
 public:
  Node() = default;
  Node(Node&&) = default;
  Node& operator=(Node&&) = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Sends `dy`, the gradient of the output, on to the inputs through `Tape::accumulate`.
  virtual void backward(Tape& tape, const Tensor& dy) = 0;
  /// The parameters of the operation in addition to its inputs.
  [[nodiscard]] virtual OpAttributes attributes() const { return {}; }

 protected:
  /// The inputs that were passed to `Tape::record`.
  [[nodiscard]] const Var& input(std::size_t i) const { return inputs_[i]; }

 private:
  friend class Tape;
  std::vector<Var> inputs_;
};

}  // namespace learn
