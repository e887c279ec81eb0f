#include "framework/export/pytorch_layers.h"

#include "framework/core/error.h"
#include "framework/core/printable.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace learn::exported {
namespace {

/// Returns the path of the layer whose weights an operation takes.
std::string layer_path(const Operation& operation) {
  constexpr std::string_view kWeight = ".weight";
  static const std::array<const char*, 4> kNames{
      ".weight", ".bias", ".running_mean", ".running_var"};
  const std::string& weight = operation.inputs.at(1);
  const bool named = weight.ends_with(kWeight);
  const std::string path = weight.substr(0, named ? weight.size() - kWeight.size() : 0);
  bool fits = named;
  for (std::size_t i = 2; i < operation.inputs.size(); ++i)
    fits = fits && operation.inputs[i] == path + kNames.at(i - 1);
  if (!fits)
    fail<UsageError>(
        "the {} in '{}' cannot be exported to PyTorch: its parameters must be named like a "
        "layer's, PATH.weight and PATH.bias, but they start with '{}'. Export to ONNX instead",
        operation.op,
        operation.module,
        weight);
  return path;
}

std::string option(const char* name, const std::string& value, bool wanted) {
  return wanted ? fmt::format(", {}={}", name, value) : "";
}

std::string conv_layer(const Graph& graph, const Operation& operation) {
  const auto& o = std::get<Conv2dOptions>(operation.attributes);
  const Shape& w = graph.weights.at(operation.inputs[1]).shape;
  const bool padded = is_symmetric(o) && (o.pad_top != 0 || o.pad_left != 0);
  return fmt::format(
      "nn.Conv2d({}, {}, {}{}{}{}{})",
      w[1] * o.groups,
      w[0],
      python_pair(w[2], w[3]),
      option("stride", python_pair(o.stride_h, o.stride_w), o.stride_h != 1 || o.stride_w != 1),
      option("padding", python_pair(o.pad_top, o.pad_left), padded),
      option("groups", std::to_string(o.groups), o.groups != 1),
      option("bias", "False", operation.inputs.size() < 3));
}

std::string layer_of(const Graph& graph, const Operation& operation) {
  if (operation.op == "conv2d") return conv_layer(graph, operation);
  const Shape& w = graph.weights.at(operation.inputs[1]).shape;
  if (operation.op == "linear")
    return fmt::format(
        "nn.Linear({}, {}{})", w[1], w[0], option("bias", "False", operation.inputs.size() < 3));
  constexpr float kUsualEps = 1e-5F;
  const auto* const of_layer = std::get_if<LayerNormAttributes>(&operation.attributes);
  const float eps = of_layer != nullptr
                        ? of_layer->eps
                        : std::get<BatchNormAttributes>(operation.attributes).options.eps;
  const std::string eps_option = option("eps", fmt::format("{}", eps), eps != kUsualEps);
  if (operation.op == "rms_norm") return fmt::format("nn.RMSNorm({}, eps={})", w[0], eps);
  if (of_layer != nullptr) return fmt::format("nn.LayerNorm({}{})", w[0], eps_option);
  const bool image = graph.values.at(operation.output).rank() == 3;
  return fmt::format("nn.BatchNorm{}d({}{})", image ? 2 : 1, w[0], eps_option);
}

bool is_identifier(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::ranges::all_of(name, fits) &&
         std::isdigit(static_cast<unsigned char>(name.front())) == 0;
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts{""};
  for (const char c : path) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

bool is_parameter(const std::string& leaf) { return leaf.starts_with("nn.Parameter("); }

}  // namespace

bool has_layer(const Operation& operation) {
  constexpr std::array kLayers{"conv2d", "linear", "batch_norm", "layer_norm", "rms_norm"};
  return std::ranges::find(kLayers, operation.op) != kLayers.end();
}

bool is_symmetric(const Conv2dOptions& o) {
  return o.pad_top == o.pad_bottom && o.pad_left == o.pad_right;
}

std::string python_pair(std::int64_t a, std::int64_t b) {
  return a == b ? std::to_string(a) : fmt::format("({}, {})", a, b);
}

std::string python_text(const std::string& text) {
  std::string out = "\"";
  for (std::string_view rest = text; !rest.empty();) {
    const CodePoint c = first_code_point(rest);
    if (c.malformed())
      out += fmt::format("\\udc{:02x}", static_cast<unsigned char>(c.bytes.front()));
    else if (c.bytes == "\"" || c.bytes == "\\")
      out += "\\" + std::string(c.bytes);
    else if (c.steers())
      out +=
          c.value < 0x100 ? fmt::format("\\x{:02x}", c.value) : fmt::format("\\u{:04x}", c.value);
    else
      out += c.bytes;
    rest.remove_prefix(c.bytes.size());
  }
  return out + "\"";
}

std::string python_words(const std::string& text) {
  std::string out;
  for (const char c : printable_line(text))
    out += c == '\\' || c == '"' ? std::string("\\") + c : std::string(1, c);
  return out;
}

bool PyTorchLayers::Tree::is_list() const {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!children.contains(std::to_string(i))) return false;
  return true;
}

PyTorchLayers::PyTorchLayers(const Graph& graph) {
  for (const Operation& operation : graph.operations) {
    if (has_layer(operation)) add(layer_path(operation), layer_of(graph, operation));
    if (operation.op == "add_bias") {
      const std::string& name = operation.inputs.at(1);
      const std::int64_t size = graph.weights.at(name).shape[0];
      add(name, fmt::format("nn.Parameter(torch.empty({}))", size));
    }
  }
}

void PyTorchLayers::add(const std::string& path, const std::string& leaf) {
  Tree* tree = &root_;
  for (const std::string& part : parts_of(path)) {
    if (!tree->leaf.empty())
      fail<UsageError>("'{}' cannot be exported to PyTorch: it would be inside another layer",
                       path);
    if (!tree->children.contains(part)) tree->names.push_back(part);
    tree = &tree->children[part];
  }
  if ((!tree->leaf.empty() && tree->leaf != leaf) || !tree->children.empty())
    fail<UsageError>("'{}' cannot be exported to PyTorch: it is both {} and {}",
                     path,
                     leaf,
                     tree->children.empty() ? tree->leaf : "a container of other layers");
  tree->leaf = leaf;
}

std::string PyTorchLayers::text_of(const Tree& tree, const std::string& indent) {
  if (!tree.leaf.empty()) return tree.leaf;
  const bool list = tree.is_list();
  std::size_t parameters = 0;
  for (const auto& [name, child] : tree.children) parameters += is_parameter(child.leaf) ? 1U : 0U;
  if (parameters != 0 && parameters != tree.children.size())
    fail<UsageError>(
        "'{}' cannot be exported to PyTorch: it is a parameter outside of the layers. Export to "
        "ONNX instead",
        tree.names.front());
  const char* const kind = parameters != 0 ? "nn.ParameterDict({"
                           : list          ? "nn.ModuleList(["
                                           : "nn.ModuleDict({";
  std::string text = fmt::format("{}\n", kind);
  for (std::size_t i = 0; i < tree.names.size(); ++i) {
    const bool plain = list && parameters == 0;
    const std::string name = plain ? std::to_string(i) : tree.names[i];
    text += indent + "    " + (plain ? "" : python_text(name) + ": ") +
            text_of(tree.children.at(name), indent + "    ") + ",\n";
  }
  return text + indent + (list && parameters == 0 ? "])" : "})");
}

std::string PyTorchLayers::init() const {
  const std::string indent(8, ' ');
  std::string text;
  for (const std::string& name : root_.names) {
    const std::string made = text_of(root_.children.at(name), indent);
    text += is_identifier(name)
                ? fmt::format("{}self.{} = {}\n", indent, name, made)
                : fmt::format("{}self.add_module({}, {})\n", indent, python_text(name), made);
  }
  return text;
}

std::string PyTorchLayers::access(const Operation& operation) const {
  const std::string path = has_layer(operation) ? layer_path(operation) : operation.inputs.at(1);
  std::string text;
  const Tree* tree = &root_;
  for (const std::string& part : parts_of(path)) {
    const bool list = tree->is_list();
    if (tree == &root_)
      text = is_identifier(part) ? "self." + part
                                 : fmt::format("self.get_submodule({})", python_text(part));
    else
      text += list ? "[" + part + "]" : "[" + python_text(part) + "]";
    tree = &tree->children.at(part);
  }
  return text;
}

}  // namespace learn::exported
