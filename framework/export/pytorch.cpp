#include "framework/export/pytorch.h"

#include "framework/core/error.h"
#include "framework/core/format.h"
#include "framework/export/activation_forms.h"
#include "framework/export/pytorch_layers.h"
#include "framework/io/atomic_file.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace learn::exported {
namespace {

constexpr std::string_view kFirstWords = "\"\"\"The model ";  // of every module

/// A Python expression. Products bind more tightly than sums, calls most tightly.
struct Expression {
  enum class Kind : std::uint8_t { call, product, sum };
  std::string text;
  Kind kind = Kind::call;

  [[nodiscard]] std::string within(Kind outer) const {
    return kind > outer ? "(" + text + ")" : text;
  }
};

/// Returns the block that a comment names: "layer1.0" for "layer1.0.conv1".
std::string block_of(const std::string& module) {
  const std::size_t dot = module.find('.');
  if (dot == std::string::npos) return {};
  const std::size_t next = module.find('.', dot + 1);
  const std::string second = module.substr(dot + 1, next - dot - 1);
  const bool number = std::ranges::all_of(second, [](char c) { return c >= '0' && c <= '9'; });
  return number ? module.substr(0, next) : module.substr(0, dot);
}

/// Writes the statements of `forward`.
class Forward {
 public:
  Forward(const Graph& graph, const PyTorchLayers& layers) : graph_(graph), layers_(layers) {
    for (std::size_t i = 0; i < graph.operations.size(); ++i)
      for (const std::string& input : graph.operations[i].inputs) last_use_[input] = i;
    known_[graph.input] = {"x"};
    in_use_["x"] = graph.input;
  }

  std::string text() {
    std::string out;
    std::string block;
    for (std::size_t i = 0; i < graph_.operations.size(); ++i) {
      const Operation& operation = graph_.operations[i];
      Expression made = expression(operation);
      if (operation.output == graph_.output) return out + "        return " + made.text + "\n";
      if (goes_into_next(i, made)) {
        known_[operation.output] = std::move(made);
        continue;
      }
      if (const std::string now = block_of(operation.module); now != block) {
        block = now;
        if (!block.empty()) out += "        # " + python_words(block) + "\n";
      }
      const std::string name = name_for(i, operation.output);
      out += fmt::format("        {} = {}\n", name, made.text);
      known_[operation.output] = {name};
    }
    return out;
  }

 private:
  /// Returns whether an operation is written inside the next one, so that a chain of calls is one
  /// line.
  bool goes_into_next(std::size_t i, const Expression& made) const {
    constexpr std::size_t kLongest = 70;
    const std::string& value = graph_.operations[i].output;
    if (i + 1 == graph_.operations.size() || made.text.size() > kLongest) return false;
    const Operation& next = graph_.operations[i + 1];
    return graph_.users(value).size() == 1 && std::ranges::count(next.inputs, value) == 1 &&
           block_of(next.module) == block_of(graph_.operations[i].module);
  }

  /// Returns the first name whose value is not needed after operation `i`.
  std::string name_for(std::size_t i, const std::string& value) {
    for (int number = 0;; ++number) {
      const std::string name =
          number < 3 ? std::string(1, "xyz"[number]) : fmt::format("x{}", number);
      const auto held = in_use_.find(name);
      if (held != in_use_.end() && last_use_[held->second] > i) continue;
      in_use_[name] = value;
      return name;
    }
  }

  const Expression& in(const Operation& operation, std::size_t i = 0) const {
    return known_.at(operation.inputs.at(i));
  }

  Expression joined(const Operation& operation, const char* sign, Expression::Kind kind) const {
    return {in(operation).within(kind) + sign + in(operation, 1).within(kind), kind};
  }

  Expression layer(const Operation& operation) const {
    std::string x = in(operation).text;
    if (operation.op == "conv2d") {
      const auto& o = std::get<Conv2dOptions>(operation.attributes);
      if (!is_symmetric(o))
        x = fmt::format(
            "F.pad({}, ({}, {}, {}, {}))", x, o.pad_left, o.pad_right, o.pad_top, o.pad_bottom);
    }
    return {fmt::format("{}({})", layers_.access(operation), x)};
  }

  Expression pool(const Operation& operation, const std::string& kind) const {
    const auto& o = std::get<Pool2dOptions>(operation.attributes);
    const Shape& image = graph_.values.at(operation.inputs[0]);
    const std::string& x = in(operation).text;
    const bool padded = o.pad_h != 0 || o.pad_w != 0;
    if (o.window_h == image[1] && o.window_w == image[2] && !padded)
      return {fmt::format("F.adaptive_{}_pool2d({}, 1)", kind, x)};
    std::string options;
    if (o.stride_h != o.window_h || o.stride_w != o.window_w)
      options += ", stride=" + python_pair(o.stride_h, o.stride_w);
    if (padded) options += ", padding=" + python_pair(o.pad_h, o.pad_w);
    if (padded && kind == "avg" && !o.count_padding) options += ", count_include_pad=False";
    return {fmt::format(
        "F.{}_pool2d({}, {}{})", kind, x, python_pair(o.window_h, o.window_w), options)};
  }

  Expression bias(const Operation& operation) const {
    const bool image = graph_.values.at(operation.output).rank() == 3;
    return {fmt::format("{} + {}{}",
                        in(operation).text,
                        layers_.access(operation),
                        image ? ".view(-1, 1, 1)" : ""),
            Expression::Kind::sum};
  }

  Expression reshaped(const Operation& operation) const {
    std::vector<std::string> extents;
    for (const std::int64_t extent : graph_.values.at(operation.output))
      extents.push_back(std::to_string(extent));
    return {fmt::format(
        "{}.reshape(-1, {})", in(operation).within(Expression::Kind::call), join(extents, ", "))};
  }

  Expression concatenation(const Operation& operation) const {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < operation.inputs.size(); ++i)
      parts.push_back(in(operation, i).text);
    return {fmt::format("torch.cat([{}], dim={})",
                        join(parts, ", "),
                        std::get<ConcatAttributes>(operation.attributes).axis)};
  }

  Expression expression(const Operation& operation) const {
    using Kind = Expression::Kind;
    const std::string& op = operation.op;
    const std::string inner = in(operation).within(Kind::call);
    if (has_layer(operation)) return layer(operation);
    if (const ActivationForm* const form = activation_form(op))
      return {fmt::format(fmt::runtime(form->pytorch),
                          in(operation).text,
                          std::get<ActivationKind>(operation.attributes).slope)};
    if (op == "add") return joined(operation, " + ", Kind::sum);
    if (op == "mul") return joined(operation, " * ", Kind::product);
    if (op == "scale")
      return {fmt::format("{} * {}",
                          in(operation).within(Kind::product),
                          std::get<ScaleAttributes>(operation.attributes).factor),
              Kind::product};
    if (op == "add_bias") return bias(operation);
    if (op == "concat") return concatenation(operation);
    if (op == "max_pool2d") return pool(operation, "max");
    if (op == "avg_pool2d") return pool(operation, "avg");
    if (op == "flatten") return {fmt::format("torch.flatten({}, 1)", in(operation).text)};
    if (op == "reshape") return reshaped(operation);
    if (op == "to_nhwc") return {inner + ".permute(0, 2, 3, 1)"};
    if (op == "to_nchw") return {inner + ".permute(0, 3, 1, 2)"};
    fail<UsageError>("'{}' in '{}' cannot be expressed in PyTorch", op, operation.module);
  }

  const Graph& graph_;
  const PyTorchLayers& layers_;
  std::map<std::string, std::size_t> last_use_;  // last use of each value
  std::map<std::string, Expression> known_;      // expression for each value
  std::map<std::string, std::string> in_use_;    // value that each name holds
};

std::string list_of(const std::vector<float>& values) {
  std::vector<std::string> texts;
  for (const float value : values) texts.push_back(fmt::format("{}", value));
  return "[" + join(texts, ", ") + "]";
}

std::string list_of(const std::vector<std::string>& texts) {
  std::string out = "[\n";
  for (const std::string& text : texts) out += "    " + python_text(text) + ",\n";
  return out + "]";
}

}  // namespace

std::string pytorch_module(const Graph& graph, const PyTorchNotes& notes) {
  const PyTorchLayers layers(graph);
  const Shape& image = graph.values.at(graph.input);
  const std::string forward = Forward(graph, layers).text();
  const bool values = notes.targets == TargetKind::values;
  return std::string(kFirstWords) +
         fmt::format(
             R"({0}, written by learn.

    model = load()                     # the weights of {1}, strictly
    {8} = model(normalize(images))  # images (N, {2}, {3}, {4}), RGB, values in [0, 1]{9}
"""
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

CLASSES = {5}
MEAN = {6}
STD = {7}


)",
             python_words(notes.model),
             python_words(notes.weights_file),
             image[0],
             image[1],
             image[2],
             list_of(notes.classes),
             list_of(notes.mean),
             list_of(notes.std),
             values ? "values" : "logits",
             notes.targets == TargetKind::labels ? "\n    probabilities = logits.sigmoid()   # of "
                                                   "each label by itself, as CLASSES names them"
                                                 : "") +
         fmt::format(
             R"(class Model(nn.Module):
    """Normalized images (N, {0}, {1}, {2}) to {7} (N, {3})."""

    def __init__(self):
        super().__init__()
{4}
    def forward(self, x):
{5}

def load(path=Path(__file__).with_name({6})):
    """The model with its weights, in eval mode."""
    model = Model()
    model.load_state_dict(load_file(path), strict=True)
    return model.eval()


def normalize(images):
    """Images of values in [0, 1] as the model takes them."""
    mean, std = (torch.tensor(values, device=images.device).view(-1, 1, 1) for values in (MEAN, STD))
    return (images - mean) / std
)",
             image[0],
             image[1],
             image[2],
             graph.values.at(graph.output)[0],
             layers.init(),
             forward,
             python_text(notes.weights_file),
             values ? "values" : "logits");
}

bool is_pytorch_module(const std::filesystem::path& path) {
  return read_text_file(path).starts_with(kFirstWords);
}

std::filesystem::path pytorch_module_path(const std::filesystem::path& path) {
  return std::filesystem::path(path).replace_extension(".py");
}

void write_pytorch(const std::filesystem::path& path,
                   const Graph& graph,
                   PyTorchNotes notes,
                   Metadata metadata) {
  constexpr std::string_view kVariance = "running_var";
  notes.weights_file = path.filename().string();
  const std::string module = pytorch_module(graph, notes);
  std::vector<NamedTensor> tensors;
  for (const auto& [name, weight] : graph.weights) {
    tensors.push_back({name, host_tensor<float>(weight.shape, weight.values)});
    if (!name.ends_with(kVariance)) continue;
    const std::string stem = name.substr(0, name.size() - kVariance.size());
    const std::vector<std::int64_t> none{0};
    tensors.push_back({stem + "num_batches_tracked", host_tensor<std::int64_t>({}, none)});
  }
  metadata["format"] = "pt";
  metadata["learn.kind"] = kPyTorchKind;
  write_safetensors(path, tensors, std::move(metadata));
  write_file_atomically(pytorch_module_path(path), module);
}

}  // namespace learn::exported
