#include "framework/export/onnx/onnx_nodes.h"

#include "framework/core/error.h"
#include "framework/export/activation_forms.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <utility>

namespace learn::exported {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data of ONNX is little endian");

bool has_initializer(const onnx::GraphProto& graph, const std::string& name) {
  return std::ranges::any_of(graph.initializer(),
                             [&](const auto& tensor) { return tensor.name() == name; });
}

template <class T>
void append_raw(const std::string& name,
                onnx::TensorProto::DataType type,
                const Shape& shape,
                const std::vector<T>& values,
                onnx::GraphProto& out) {
  onnx::TensorProto& tensor = *out.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  tensor.set_raw_data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// Builds the nodes of one operation.
class Writer {
 public:
  Writer(const Graph& graph, const Operation& operation, onnx::GraphProto& out)
      : graph_(graph), operation_(operation), out_(out) {}

  void write() {
    const auto found = makers().find(operation_.op);
    if (found == makers().end())
      fail<UsageError>(
          "'{}' in '{}' cannot be expressed in ONNX", operation_.op, operation_.module);
    (this->*found->second)();
  }

 private:
  using Maker = void (Writer::*)();

  static const std::map<std::string, Maker>& makers() {
    static const std::map<std::string, Maker> all = [] {
      std::map<std::string, Maker> known{{"conv2d", &Writer::conv},
                                         {"linear", &Writer::linear},
                                         {"batch_norm", &Writer::batch_norm},
                                         {"layer_norm", &Writer::layer_norm},
                                         {"rms_norm", &Writer::rms_norm},
                                         {"abs", &Writer::abs},
                                         {"exp", &Writer::exp},
                                         {"log", &Writer::log},
                                         {"sqrt", &Writer::sqrt},
                                         {"sigmoid", &Writer::sigmoid},
                                         {"tanh", &Writer::tanh},
                                         {"sub", &Writer::sub},
                                         {"div", &Writer::div},
                                         {"add", &Writer::add},
                                         {"mul", &Writer::mul},
                                         {"scale", &Writer::scale},
                                         {"add_bias", &Writer::add_bias},
                                         {"concat", &Writer::concat},
                                         {"max_pool2d", &Writer::max_pool},
                                         {"avg_pool2d", &Writer::average_pool},
                                         {"flatten", &Writer::flatten},
                                         {"reshape", &Writer::reshape},
                                         {"to_nhwc", &Writer::to_nhwc},
                                         {"to_nchw", &Writer::to_nchw},
                                         {"normalize", &Writer::normalize},
                                         {"softmax", &Writer::softmax}};
      for (const ActivationForm& form : kActivationForms)
        known.emplace(form.name, &Writer::activation);
      return known;
    }();
    return all;
  }

  /// Adds a node with the operation's own inputs and output.
  onnx::NodeProto& node(const char* type) {
    return node(type, operation_.inputs, operation_.output);
  }
  onnx::NodeProto& node(const char* type,
                        const std::vector<std::string>& inputs,
                        const std::string& output) {
    onnx::NodeProto& made = *out_.add_node();
    made.set_op_type(type);
    made.set_name(output);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
    return made;
  }

  static onnx::AttributeProto& attribute(onnx::NodeProto& node,
                                         const char* name,
                                         onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto& made = *node.add_attribute();
    made.set_name(name);
    made.set_type(type);
    return made;
  }
  static void set(onnx::NodeProto& node, const char* name, std::int64_t value) {
    attribute(node, name, onnx::AttributeProto::INT).set_i(value);
  }
  static void set(onnx::NodeProto& node, const char* name, float value) {
    attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
  }
  static void set(onnx::NodeProto& node,
                  const char* name,
                  std::initializer_list<std::int64_t> values) {
    onnx::AttributeProto& made = attribute(node, name, onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) made.add_ints(value);
  }

  /// Returns the name of a number's initializer, which all of its users share.
  std::string number(double value) {
    const std::string name = fmt::format("number/{}", value);
    if (!has_initializer(out_, name))
      append_initializer(name, {{}, {static_cast<float>(value)}}, out_);
    return name;
  }

  template <class T>
  const T& attributes() const {
    return std::get<T>(operation_.attributes);
  }
  const Shape& shape_of(const std::string& value) const { return graph_.values.at(value); }
  const std::string& x() const { return operation_.inputs.front(); }
  /// Returns the name of an intermediate value of the operation.
  std::string inner(const char* name) const { return operation_.output + "/" + name; }

  void conv() {
    const auto& o = attributes<Conv2dOptions>();
    const Shape& weight = graph_.weights.at(operation_.inputs.at(1)).shape;
    onnx::NodeProto& made = node("Conv");
    set(made, "kernel_shape", {weight[2], weight[3]});
    set(made, "strides", {o.stride_h, o.stride_w});
    set(made, "pads", {o.pad_top, o.pad_left, o.pad_bottom, o.pad_right});
    set(made, "group", o.groups);
  }
  void linear() { set(node("Gemm"), "transB", std::int64_t{1}); }
  void batch_norm() {
    set(node("BatchNormalization"), "epsilon", attributes<BatchNormAttributes>().options.eps);
  }
  void layer_norm() {
    set(node("LayerNormalization"), "epsilon", attributes<LayerNormAttributes>().eps);
  }
  /// The operator RMSNormalization requires a later opset.
  void rms_norm() {
    node("Mul", {x(), x()}, inner("squares"));
    onnx::NodeProto& mean = node("ReduceMean", {inner("squares")}, inner("mean"));
    set(mean, "axes", {-1});
    node("Add",
         {inner("mean"), number(static_cast<double>(attributes<LayerNormAttributes>().eps))},
         inner("with_eps"));
    node("Sqrt", {inner("with_eps")}, inner("root"));
    node("Div", {x(), inner("root")}, inner("normalized"));
    node("Mul", {inner("normalized"), operation_.inputs.at(1)}, operation_.output);
  }
  /// Builds the nodes of an ActivationForm.
  void activation() {
    std::istringstream nodes{std::string(activation_form(operation_.op)->onnx)};
    for (std::string text; std::getline(nodes, text, ';');) {
      std::istringstream words(text);
      std::string result, equals, type;
      words >> result >> equals >> type;
      std::vector<std::string> inputs;
      bool with_slope = false;
      for (std::string word; words >> word;) {
        if (word == "slope")
          with_slope = true;
        else if (std::isdigit(static_cast<unsigned char>(word.front())) != 0)
          inputs.push_back(number(std::stod(word)));
        else
          inputs.push_back(word == "x" ? x() : inner(word.c_str()));
      }
      onnx::NodeProto& made =
          node(type.c_str(), inputs, result == "y" ? operation_.output : inner(result.c_str()));
      if (with_slope) set(made, "alpha", attributes<ActivationKind>().slope);
    }
  }
  void abs() { node("Abs"); }
  void exp() { node("Exp"); }
  void log() { node("Log"); }
  void sqrt() { node("Sqrt"); }
  void sigmoid() { node("Sigmoid"); }
  void tanh() { node("Tanh"); }
  void sub() { node("Sub"); }
  void div() { node("Div"); }
  void add() { node("Add"); }
  void mul() { node("Mul"); }
  void scale() {
    node("Mul", {x(), number(attributes<ScaleAttributes>().factor)}, operation_.output);
  }
  void add_bias() {
    if (shape_of(x()).rank() != 3) {
      node("Add");
      return;
    }
    Weight bias = graph_.weights.at(operation_.inputs.at(1));
    bias.shape = {bias.shape[0], 1, 1};
    append_initializer(inner("bias"), bias, out_);
    node("Add", {x(), inner("bias")}, operation_.output);
  }
  void concat() { set(node("Concat"), "axis", std::int64_t{attributes<ConcatAttributes>().axis}); }

  void pool(const char* type, const char* global) {
    const auto& o = attributes<Pool2dOptions>();
    const Shape& image = shape_of(x());
    if (o.window_h == image[1] && o.window_w == image[2] && o.pad_h == 0 && o.pad_w == 0) {
      node(global);
      return;
    }
    onnx::NodeProto& made = node(type);
    set(made, "kernel_shape", {o.window_h, o.window_w});
    set(made, "strides", {o.stride_h, o.stride_w});
    set(made, "pads", {o.pad_h, o.pad_w, o.pad_h, o.pad_w});
    if (operation_.op == "avg_pool2d")
      set(made, "count_include_pad", std::int64_t{o.count_padding ? 1 : 0});
  }
  void max_pool() { pool("MaxPool", "GlobalMaxPool"); }
  void average_pool() { pool("AveragePool", "GlobalAveragePool"); }

  void flatten() { set(node("Flatten"), "axis", std::int64_t{1}); }
  void reshape() {
    std::vector<std::int64_t> shape{0};  // 0 keeps an extent, here the batch's
    for (const std::int64_t extent : shape_of(operation_.output)) shape.push_back(extent);
    const Shape one{static_cast<std::int64_t>(shape.size())};
    append_raw(inner("shape"), onnx::TensorProto::INT64, one, shape, out_);
    node("Reshape", {x(), inner("shape")}, operation_.output);
  }
  void to_nhwc() { set(node("Transpose"), "perm", {0, 2, 3, 1}); }
  void to_nchw() { set(node("Transpose"), "perm", {0, 3, 1, 2}); }
  void normalize() {
    node("Sub", {x(), operation_.inputs.at(1)}, inner("centred"));
    node("Div", {inner("centred"), operation_.inputs.at(2)}, operation_.output);
  }
  void softmax() { set(node("Softmax"), "axis", std::int64_t{1}); }

  const Graph& graph_;
  const Operation& operation_;
  onnx::GraphProto& out_;
};

}  // namespace

void append_nodes(const Graph& graph, const Operation& operation, onnx::GraphProto& out) {
  Writer(graph, operation, out).write();
}

void append_initializer(const std::string& name, const Weight& weight, onnx::GraphProto& out) {
  append_raw(name, onnx::TensorProto::FLOAT, weight.shape, weight.values, out);
}

}  // namespace learn::exported
