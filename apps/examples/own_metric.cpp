// A custom metric that is not a mean over samples: R squared, the share of the targets' variance
// that a model explains.
#include "data/loading/loaders.h"
#include "data/sets/arrays.h"
#include "framework/learner/learner.h"
#include "framework/nn/layers.h"
#include "framework/optim/adam.h"
#include "framework/runtime/transfer.h"

#include <fmt/core.h>

#include <cmath>

using namespace learn;

/// Accumulates over a pass of the validation data, batch by batch. Each pass starts with a new
/// copy.
struct RSquared {
  double count = 0, sum = 0, squares = 0, errors = 0;

  void add(Context& ctx, const Tensor& pred, const Tensor& target) {
    const Tensor guesses = to_host(ctx, pred), truths = to_host(ctx, target);
    for (std::size_t i = 0; i < truths.span<float>().size(); ++i) {
      const double y = truths.span<float>()[i], error = y - guesses.span<float>()[i];
      count += 1;
      sum += y;
      squares += y * y;
      errors += error * error;
    }
  }
  double value() const { return 1 - errors / (squares - sum * sum / count); }
};

data::Dataset waves(int points) {
  data::Arrays out{.sample = {1}};
  for (int i = 0; i < points; ++i) {
    const float x = 2 * static_cast<float>(i) / static_cast<float>(points) - 1;
    out.x.push_back(x);
    out.targets.push_back(std::sin(4 * x));
  }
  return data::from_arrays(std::move(out));
}

int main() {
  Context ctx;
  data::Loaders data(ctx, {waves(1024), waves(300)});
  auto model = nn::make_model<nn::Sequential>("waves", {1}, 1, [](nn::Sequential& layers) {
    layers.emplace<nn::Linear>(1, 32);
    layers.emplace<nn::Activation>(ActivationKind::silu());
    layers.emplace<nn::Linear>(32, 1);
  });
  const LearnerOptions options{
      .loss = nn::mse(), .optimizer = optim::adam(), .metrics = {{"r2", RSquared{}}}};
  Learner learn(ctx, std::move(model), data, options);
  learn.fit_one_cycle(20, 0.05F);
  fmt::print("R squared: {:.3f}\n", learn.results().metrics.front().second);
}
