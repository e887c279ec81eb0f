// A custom loss made of operations: the pinball loss, with which a model learns a bound above nine
// of ten values instead of their mean.
#include "data/loading/loaders.h"
#include "data/sets/arrays.h"
#include "framework/autograd/ops.h"
#include "framework/learner/learner.h"
#include "framework/nn/layers.h"
#include "framework/optim/adam.h"

#include <fmt/core.h>

#include <random>

using namespace learn;

/// A value above the bound costs `share` of the distance, one below the rest.
nn::Loss pinball(double share) {
  return {"pinball", [share](const Var& pred, const Tensor& target) {
            const Var above = pred.tape().input(target) - pred;
            return ops::mean(ops::maximum(share * above, (share - 1) * above));
          }};
}

/// y = x^2 with noise that grows with x.
data::Dataset noisy(unsigned seed) {
  data::Arrays out{.sample = {1}};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 2000; ++i) {
    const float x = static_cast<float>(i) / 1000 - 1;
    out.x.push_back(x);
    out.targets.push_back(x * x + 0.1F * (1.5F + x) * normal(random));
  }
  return data::from_arrays(std::move(out));
}

int main() {
  Context ctx;
  data::Loaders data(ctx, {noisy(1), noisy(2)});
  auto model = nn::make_model<nn::Sequential>("bound", {1}, 1, [](nn::Sequential& layers) {
    layers.emplace<nn::Linear>(1, 32);
    layers.emplace<nn::Activation>(ActivationKind::silu());
    layers.emplace<nn::Linear>(32, 1);
  });
  const LearnerOptions options{.loss = pinball(0.9), .optimizer = optim::adam()};
  Learner learn(ctx, std::move(model), data, options);
  learn.fit_one_cycle(12, 0.02F);
  const Predictions all = learn.get_preds(data.valid());
  int below = 0;
  for (std::size_t i = 0; i < 2000; ++i)
    below += all.targets.span<float>()[i] < all.preds.span<float>()[i];
  fmt::print("{:.1f} % of values that it has not seen are below the bound\n", below / 20.0);
}
