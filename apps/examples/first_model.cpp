// A first custom model: learns y from x, from points of which some are outliers.
#include "framework/learn.h"

#include <fmt/core.h>

#include <cmath>
#include <random>

using namespace learn;

// The data: x in [-1, 1], y = sin(3x) and a little noise; one point of ten is an outlier.
data::Dataset points(int count, unsigned seed) {
  data::Arrays out{.sample = {1}};
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int i = 0; i < count; ++i) {
    const float x = uniform(random);
    out.x.push_back(x);
    out.targets.push_back(std::sin(3 * x) + (i % 10 == 0 ? 5 : 0.05F * uniform(random)));
  }
  return data::from_arrays(std::move(out));
}

// The model: two layers whose weights it declares, and the computation for a batch.
class Curve final : public nn::Module {
 public:
  explicit Curve(const nn::Scope& scope)
      : Module(scope), hidden_(scope / "hidden", 1, 64), out_(scope / "out", 64, 1) {}
  std::string describe() const override { return "Curve"; }

 protected:
  Var forward(const Var& x) override { return out_(ops::silu(hidden_(x))); }

 private:
  nn::Linear hidden_, out_;
};

// The loss: the mean distance |pred - y|, in which the distance of an outlier is not squared.
Var distance(const Var& pred, const Tensor& target) {
  return ops::mean(ops::abs(pred - pred.tape().input(target)));
}

int main() {
  Context ctx;  // a GPU if there is one, else the CPU
  data::Loaders data(ctx, {points(4000, 1), points(500, 2)});
  Learner learn(ctx,
                nn::make_model<Curve>("curve", {1}, 1),
                data,
                {.loss = {"distance", distance}, .optimizer = optim::adam()});
  learn.fit_one_cycle(15, 0.02);

  const data::Dataset questions =
      data::from_arrays({.x = {-0.5F, 0, 0.5F}, .sample = {1}, .targets = {0, 0, 0}});
  data::Loader asked(ctx, questions, {.normalization = data.normalization()});
  const Tensor answers = learn.get_preds(asked).preds;
  for (const float y : answers.span<float>()) fmt::print("{:.2f}\n", y);
}
