#include "framework/export/trace.h"

#include "framework/autograd/tape.h"
#include "framework/core/error.h"
#include "framework/export/activation_forms.h"
#include "framework/export/passes.h"
#include "framework/kernels/cast/fill.h"
#include "framework/nn/param_store.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace learn::exported {
namespace {

/// Batch size of the traced pass: above 1, to detect reshapes that mix images.
constexpr std::int64_t kBatch = 2;

constexpr std::array kPlain{"scale", "abs", "exp", "log", "sqrt", "sigmoid", "tanh"};
constexpr std::array kOfTwo{"add", "mul", "sub", "div"};

bool is_row_norm(std::string_view op) { return op == "layer_norm" || op == "rms_norm"; }
bool is_norm(std::string_view op) { return op == "batch_norm" || is_row_norm(op); }

template <class Names>
bool one_of(std::string_view name, const Names& names) {
  return std::ranges::find(names, name) != names.end();
}

/// Returns (K,R,S,C) as (K,C,R,S), and shapes of other ranks unchanged.
Shape channels_second(const Shape& s) { return s.rank() == 4 ? Shape{s[0], s[3], s[1], s[2]} : s; }

Shape without_batch(const Shape& s) {
  Shape sample;
  for (int i = 1; i < s.rank(); ++i) sample.push_back(s[i]);
  return sample;
}

/// Returns whether an image (C,H,W) has a different memory order than (H,W,C).
bool order_differs(const Shape& image) {
  return image.rank() == 3 && image[0] > 1 && image[1] * image[2] > 1;
}

Weight weight_of(Context& ctx, const Tensor& tensor) {
  const Tensor host = to_host(ctx, tensor);
  const Shape& s = host.shape();
  Weight weight{channels_second(s), std::vector<float>(static_cast<std::size_t>(s.elements()))};
  const std::int64_t taps = s.rank() == 4 ? s[1] * s[2] : 1;
  const std::int64_t channels = s.rank() == 4 ? s[3] : 1;
  visit_floating(host.dtype(), [&]<class T>() {
    const std::span<const T> from = host.span<T>();
    for (std::int64_t i = 0; i < s.elements(); ++i) {
      const std::int64_t channel = i % channels;
      const std::int64_t tap = i / channels % taps;
      const std::int64_t row = i / channels / taps;
      weight.values[static_cast<std::size_t>((row * channels + channel) * taps + tap)] =
          as_float(from[static_cast<std::size_t>(i)]);
    }
  });
  return weight;
}

class Tracer final : public ForwardObserver {
 public:
  Tracer(Context& ctx, nn::ParamStore& store, const Var& image) : ctx_(ctx) {
    for (std::int64_t i = 0; i < store.size(); ++i)
      stored_.emplace(store.slot(i).value.raw(), std::pair(store.info(i).name, store.master(i)));
    for (std::int64_t i = 0; i < store.buffer_count(); ++i)
      stored_.emplace(store.buffer(i).value.raw(),
                      std::pair(store.buffer(i).name, store.buffer(i).value));
    names_[image.id()] = graph.input;
    graph.values[graph.input] = without_batch(channels_second(image.shape()));
  }

  void entered(const nn::Module& module) override { modules_.push_back(module.path()); }
  void forwarded(const nn::Module&, const Var&, const Var&) override { modules_.pop_back(); }

  void recorded(const Node& node, std::span<const Var> inputs, const Var& out) override {
    const std::string op(node.name());
    std::vector<std::string> names;
    for (const Var& input : inputs) names.push_back(name_of(input, op));
    if (std::ranges::all_of(names, [&](const auto& name) { return graph.is_weight(name); })) {
      names_[out.id()] = add_computed(op, names.front(), out.value());
      return;
    }
    if (out.shape().rank() < 2 || out.shape()[0] != kBatch)
      fail_at(op,
              fmt::format("returns {} for a batch of {}: it mixes images", out.shape(), kBatch));
    names_[out.id()] = add(op, node.attributes(), names, inputs, out);
  }

  /// Makes the value of `out` the output of the graph.
  void finish(const Var& out) {
    const auto found = names_.find(out.id());
    const bool logits =
        found != names_.end() && out.shape().rank() == 2 && !graph.is_weight(found->second);
    if (!logits)
      fail<UsageError>(
          "the model returns {} for a batch of {} images; it must return logits (N,classes)",
          out.shape(),
          kBatch);
    const std::string logits_name = std::exchange(graph.output, found->second);
    rename_output(graph, logits_name);
    graph.drop_unused_weights();
  }

  Graph graph;

 private:
  [[noreturn]] void fail_at(const std::string& op,
                            const std::string& what,
                            SourceLocation at = SourceLocation::current()) const {
    const std::string path = modules_.empty() ? "" : modules_.back();
    fail_from<UsageError>(at,
                          "the model cannot be exported: in {} the operation '{}' {}",
                          path.empty() ? "a custom forward" : "'" + path + "'",
                          op,
                          what);
  }

  std::string name_of(const Var& input, const std::string& op) {
    if (const auto known = names_.find(input.id()); known != names_.end()) return known->second;
    const std::string name = name_of(input.value());
    if (name.empty())
      fail_at(op, fmt::format("uses a value {} that is not a parameter", input.shape()));
    return names_[input.id()] = name;
  }

  /// Returns the name of a parameter or buffer, or an empty text.
  std::string name_of(const Tensor& tensor) {
    const auto found = stored_.find(tensor.raw());
    if (found == stored_.end()) return {};
    const auto& [name, value] = found->second;
    if (!graph.is_weight(name)) graph.weights.emplace(name, weight_of(ctx_, value));
    return name;
  }

  std::string add_computed(const std::string& op, const std::string& of, const Tensor& value) {
    const std::string wish =
        op == "weight_norm" && of.ends_with("_v") ? of.substr(0, of.size() - 2) : of + "." + op;
    const std::string name = graph.unused_name(wish);
    graph.weights.emplace(name, weight_of(ctx_, value));
    return name;
  }

  /// Appends an operation and returns the name of its value.
  std::string append(const std::string& op,
                     std::vector<std::string> inputs,
                     const Shape& shape,
                     OpAttributes attributes = {}) {
    const std::string module = modules_.empty() ? "" : modules_.back();
    const std::string name = graph.unused_name((module.empty() ? "" : module + "/") + op);
    graph.values[name] = shape;
    graph.operations.push_back({op, module, std::move(inputs), name, std::move(attributes)});
    return name;
  }

  std::string add(const std::string& op,
                  const OpAttributes& attributes,
                  const std::vector<std::string>& names,
                  std::span<const Var> inputs,
                  const Var& out) {
    const Shape shape = without_batch(channels_second(out.shape()));
    // Either the first input is a value and those after it are weights, or all are values.
    const bool weighted = op == "conv2d" || op == "linear" || op == "add_bias" || is_norm(op);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool wants_weight = weighted && i > 0 && !(op == "batch_norm" && i == 3);
      if (wants_weight && !graph.is_weight(names[i]))
        fail_at(op, "uses a weight that depends on the image");
      if (!wants_weight && graph.is_weight(names[i]))
        fail_at(op, "uses the parameter '" + names[i] + "' as a value");
    }
    if (op == "batch_norm")
      return add_batch_norm(std::get<BatchNormAttributes>(attributes), names, shape);
    if (is_row_norm(op)) return add_row_norm(op, names, attributes);
    if (op == "reshape") return add_reshape(names.front(), out.shape());
    if (op == "concat")
      return add_concat(std::get<ConcatAttributes>(attributes), names, out, shape);
    const bool known = weighted || activation_form(op) != nullptr || one_of(op, kPlain) ||
                       one_of(op, kOfTwo) || op == "max_pool2d" || op == "avg_pool2d";
    if (!known) fail_at(op, "does not exist in other runtimes");
    // With channels second, shapes are aligned only if they have the same number of dimensions.
    if (one_of(op, kOfTwo) && inputs[0].shape().rank() != inputs[1].shape().rank())
      fail_at(op, "broadcasts an operand of fewer dimensions, which other runtimes do not support");
    if (op == "conv2d" && inputs[0].padding() != 0) fail_at(op, "uses padded channels");
    return append(op, names, shape, attributes);
  }

  std::string add_activation(const ActivationKind& kind,
                             const std::string& of,
                             const Shape& shape) {
    if (kind.name == ActivationKind::Name::identity) return of;
    return append(learn::name_of(kind), {of}, shape, kind);
  }

  std::string add_batch_norm(const BatchNormAttributes& attributes,
                             std::vector<std::string> names,
                             const Shape& shape) {
    const std::string mean = name_of(attributes.running_mean);
    const std::string variance = name_of(attributes.running_var);
    if (!attributes.eval || mean.empty() || variance.empty())
      fail_at("batch_norm", "does not use the running statistics of a module");
    const std::string residual = names.size() > 3 ? names[3] : "";
    const BatchNormOptions& o = attributes.options;
    std::string y = append("batch_norm",
                           {names[0], names[1], names[2], mean, variance},
                           shape,
                           BatchNormAttributes{.options = {.eps = o.eps, .momentum = o.momentum}});
    if (!residual.empty() && o.residual_before_activation)
      return add_activation(o.activation, append("add", {y, residual}, shape), shape);
    y = add_activation(o.activation, y, shape);
    return residual.empty() ? y : append("add", {y, residual}, shape);
  }

  /// The channels of an image are normalized where they are last.
  std::string add_row_norm(const std::string& op,
                           std::vector<std::string> names,
                           const OpAttributes& attributes) {
    const Shape before = graph.values.at(names[0]);
    if (before.rank() != 3) return append(op, std::move(names), before, attributes);
    const Shape moved{before[1], before[2], before[0]};
    names[0] = append("to_nhwc", {names[0]}, moved);
    return append("to_nchw", {append(op, std::move(names), moved, attributes)}, before);
  }

  std::string add_reshape(std::string from, const Shape& to) {
    const Shape before = graph.values.at(from);
    if (order_differs(before)) from = append("to_nhwc", {from}, {before[1], before[2], before[0]});
    const Shape sample = without_batch(to);
    if (sample.rank() == 1) return append("flatten", {from}, sample);
    const Shape image = without_batch(channels_second(to));
    if (!order_differs(image)) return append("reshape", {from}, image);
    return append("to_nchw", {append("reshape", {from}, sample)}, image);
  }

  std::string add_concat(ConcatAttributes attributes,
                         const std::vector<std::string>& names,
                         const Var& out,
                         const Shape& shape) {
    constexpr std::array<int, 4> kPlaces{0, 2, 3, 1};
    if (out.shape().rank() == 4)
      attributes.axis = kPlaces.at(static_cast<std::size_t>(attributes.axis));
    return append("concat", names, shape, attributes);
  }

  Context& ctx_;
  std::unordered_map<const std::byte*, std::pair<std::string, Tensor>> stored_;
  std::unordered_map<std::uint32_t, std::string> names_;  // names of the values on the tape
  std::vector<std::string> modules_;                      // running modules, the innermost last
};

}  // namespace

Graph trace(nn::Module& model, nn::ParamStore& store, const Shape& sample) {
  if (sample.rank() != 3)
    fail<UsageError>("only models of images (H,W,C) can be exported, not {}", sample);
  Context& ctx = store.context();
  Tape tape(ctx, {.mode = ForwardMode::eval, .grad = false});
  Tensor x = tape.empty({kBatch, sample[0], sample[1], sample[2]}, store.working_dtype());
  kernels::fill(ctx, x, 0);
  const Var image = tape.input(x);
  Tracer tracer(ctx, store, image);
  tape.observe(&tracer);
  tracer.finish(model(image));
  return std::move(tracer.graph);
}

}  // namespace learn::exported
