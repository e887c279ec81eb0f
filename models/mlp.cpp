#include "models/mlp.h"

#include "framework/nn/layers.h"
#include "models/registry.h"

#include <fmt/core.h>

namespace learn::models {

Mlp::Mlp(const nn::Scope& scope, const Shape& input, const MlpOptions& options)
    : Module(scope), input_(input), options_(options), layers_(scope / "layers") {
  check<UsageError>(options.hidden_layers >= 0 && options.width >= 1 && options.classes >= 1,
                    "Mlp: {} hidden layers of width {} and {} classes are not possible",
                    options.hidden_layers,
                    options.width,
                    options.classes);
  const nn::LinearOptions linear{.weight_norm = options.weight_norm};
  layers_.emplace<nn::Flatten>();
  std::int64_t in = input.elements();
  for (std::int64_t i = 0; i < options.hidden_layers; ++i) {
    layers_.emplace<nn::Linear>(in, options.width, linear);
    layers_.emplace<nn::Activation>(ActivationKind::relu());
    if (options.dropout > 0) layers_.emplace<nn::Dropout>(options.dropout);
    in = options.width;
  }
  layers_.emplace<nn::Linear>(in, options.classes, linear);
}

Var Mlp::forward(const Var& x) {
  const bool fits = x.shape().rank() == input_.rank() + 1 &&
                    x.shape().elements() == x.shape()[0] * input_.elements();
  check(fits,
        "this model was created for samples of shape {}, but got a batch of shape {}",
        input_,
        x.shape());
  return layers_(x);
}

std::string Mlp::describe() const {
  if (options_.hidden_layers == 0) return "Linear model";
  return fmt::format("Mlp({} hidden layers of {})", options_.hidden_layers, options_.width);
}

void register_mlp(ModelRegistry& registry) {
  const auto make = [](const char* name) {
    return [name](MlpOptions o, const Task& task) {
      o.classes = task.classes;
      return nn::make_model<Mlp>(name, task.input, task.classes, task.input, o);
    };
  };
  registry.add(
      "mlp",
      "two hidden layers with relu",
      MlpOptions{},
      [](OptionTable& t, MlpOptions& o) {
        t.number("width", o.width, kWidth, "N", "units per hidden layer");
        t.number("dropout", o.dropout, kShare, "P", "after each hidden layer");
        t.flag("weight_norm",
               o.weight_norm,
               "weight normalization: learn the lengths and directions of the weights separately");
      },
      make("mlp"));
  registry.add(
      "linear",
      "logistic regression on the values of a sample, a baseline",
      MlpOptions{.hidden_layers = 0},
      [](OptionTable&, MlpOptions&) {},
      make("linear"));
}

}  // namespace learn::models
