#include "framework/export/passes.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace learn::exported {
namespace {

/// Returns the operation that makes a value, or null for the input of the graph.
Operation* maker(Graph& graph, const std::string& value) {
  const auto found = std::ranges::find(graph.operations, value, &Operation::output);
  return found == graph.operations.end() ? nullptr : &*found;
}

/// Returns whether `value` has users and all of them are operations `op`.
bool all_users_are(const Graph& graph, const std::string& value, std::string_view op) {
  const std::vector<std::size_t> users = graph.users(value);
  return value != graph.output && !users.empty() &&
         std::ranges::all_of(users, [&](std::size_t i) { return graph.operations[i].op == op; });
}

bool used_once(const Graph& graph, const std::string& name) {
  return graph.users(name).size() == 1;
}

void remove(Graph& graph, const std::string& output) {
  std::erase_if(graph.operations, [&](const Operation& o) { return o.output == output; });
}

/// Appends an operation without attributes.
void end_in(Graph& graph, const char* op) {
  const std::string name = graph.unused_name("probabilities");
  graph.values[name] = graph.values.at(graph.output);
  graph.operations.push_back({op, "", {graph.output}, name, {}});
  graph.output = name;
}

}  // namespace

void turn_columns(Weight& weight, const Shape& image, bool back) {
  const std::int64_t channels = image[0];
  const std::int64_t pixels = image[1] * image[2];
  const std::int64_t columns = channels * pixels;
  std::vector<float> turned(weight.values.size());
  for (std::size_t i = 0; i < turned.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(i) % columns;
    const std::size_t row = i - static_cast<std::size_t>(column);
    const std::size_t other =
        row + static_cast<std::size_t>(column % channels * pixels + column / channels);
    (back ? turned[i] : turned[other]) = weight.values[back ? other : i];
  }
  weight.values = std::move(turned);
}

std::vector<FlattenedWeight> flatten_channels_first(Graph& graph) {
  std::vector<FlattenedWeight> changed;
  std::vector<Operation> turns;
  for (const Operation& operation : graph.operations)
    if (operation.op == "to_nhwc") turns.push_back(operation);
  for (const Operation& turn : turns) {
    if (!all_users_are(graph, turn.output, "flatten")) continue;
    std::vector<std::string> weights;
    bool possible = true;
    for (const std::size_t flatten : graph.users(turn.output)) {
      const std::string& flat = graph.operations[flatten].output;
      possible = possible && all_users_are(graph, flat, "linear");
      if (!possible) break;
      for (const std::size_t user : graph.users(flat))
        weights.push_back(graph.operations[user].inputs[1]);
    }
    possible = possible && std::ranges::all_of(
                               weights, [&](const auto& name) { return used_once(graph, name); });
    if (!possible) continue;
    const std::string from = turn.inputs.front();
    const Shape image = graph.values.at(from);
    for (const std::string& name : weights) {
      turn_columns(graph.weights.at(name), image);
      changed.push_back({name, image});
    }
    for (const std::size_t flatten : graph.users(turn.output))
      graph.operations[flatten].inputs = {from};
    graph.values.erase(turn.output);
    remove(graph, turn.output);
  }
  return changed;
}

int fold_batch_norm(Graph& graph) {
  int folded = 0;
  std::vector<Operation> norms;
  for (const Operation& operation : graph.operations)
    if (operation.op == "batch_norm") norms.push_back(operation);
  for (const Operation& norm : norms) {
    Operation* const layer = maker(graph, norm.inputs[0]);
    if (layer == nullptr || (layer->op != "conv2d" && layer->op != "linear")) continue;
    const bool own = std::ranges::all_of(layer->inputs.begin() + 1,
                                         layer->inputs.end(),
                                         [&](const auto& w) { return used_once(graph, w); });
    if (!own || !used_once(graph, norm.inputs[0])) continue;
    const auto values = [&](std::size_t i) -> const std::vector<float>& {
      return graph.weights.at(norm.inputs[i]).values;
    };
    Weight& weight = graph.weights.at(layer->inputs[1]);
    const std::size_t outputs = values(1).size();
    Weight bias{{static_cast<std::int64_t>(outputs)}, std::vector<float>(outputs)};
    if (layer->inputs.size() > 2) bias = graph.weights.at(layer->inputs[2]);
    const double eps =
        static_cast<double>(std::get<BatchNormAttributes>(norm.attributes).options.eps);
    const std::size_t row = weight.values.size() / outputs;
    for (std::size_t k = 0; k < outputs; ++k) {
      const auto at = [&](std::size_t i) { return static_cast<double>(values(i)[k]); };
      const double factor = at(1) / std::sqrt(at(4) + eps);
      for (std::size_t i = k * row; i < (k + 1) * row; ++i)
        weight.values[i] = static_cast<float>(static_cast<double>(weight.values[i]) * factor);
      bias.values[k] =
          static_cast<float>((static_cast<double>(bias.values[k]) - at(3)) * factor + at(2));
    }
    if (layer->inputs.size() < 3) {
      std::string stem = layer->inputs[1];
      if (stem.ends_with("weight")) stem.resize(stem.size() - std::string_view("weight").size());
      layer->inputs.push_back(graph.unused_name(stem + "bias"));
    }
    graph.weights[layer->inputs[2]] = std::move(bias);
    graph.values.erase(layer->output);
    // In this order, because `remove` shortens the vector that `layer` points into.
    const std::string unfolded = layer->output;
    const std::string output = norm.output;
    remove(graph, output);
    maker(graph, unfolded)->output = output;
    ++folded;
  }
  graph.drop_unused_weights();
  return folded;
}

void normalize_first(Graph& graph, std::span<const float> mean, std::span<const float> std) {
  const Shape image = graph.values.at(graph.input);
  check<UsageError>(static_cast<std::int64_t>(mean.size()) == image[0] && mean.size() == std.size(),
                    "{} means and {} standard deviations do not fit images of {} channels",
                    mean.size(),
                    std.size(),
                    image[0]);
  const std::string normalized = graph.unused_name("normalized");
  for (Operation& operation : graph.operations)
    std::ranges::replace(operation.inputs, graph.input, normalized);
  Operation first{"normalize", "", {graph.input}, normalized, {}};
  for (const auto& [wish, values] : {std::pair("mean", mean), std::pair("std", std)}) {
    const std::string name = graph.unused_name(wish);
    graph.weights[name] = {{image[0], 1, 1}, {values.begin(), values.end()}};
    first.inputs.push_back(name);
  }
  graph.values[normalized] = image;
  graph.operations.insert(graph.operations.begin(), std::move(first));
}

void rename_output(Graph& graph, const std::string& name) {
  const std::string old = graph.output;
  graph.output = graph.unused_name(name);
  graph.values[graph.output] = graph.values.at(old);
  graph.values.erase(old);
  for (Operation& operation : graph.operations) {
    std::ranges::replace(operation.inputs, old, graph.output);
    if (operation.output == old) operation.output = graph.output;
  }
}

void end_in_softmax(Graph& graph) { end_in(graph, "softmax"); }

void end_in_sigmoid(Graph& graph) { end_in(graph, "sigmoid"); }

}  // namespace learn::exported
