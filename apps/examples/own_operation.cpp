// A custom operation: an activation that the framework does not have, written as an expression. Its
// gradient is derived from the expression and checked here. It runs on every device.
#include "data/loading/loaders.h"
#include "data/sets/arrays.h"
#include "framework/autograd/gradcheck.h"
#include "framework/autograd/ops.h"
#include "framework/learner/learner.h"
#include "framework/nn/layers.h"

#include <fmt/core.h>

using namespace learn;

/// Mish (Misra 2019): x tanh(log(1 + e^x)).
Var mish(const Var& x) {
  return ops::map([](const Expr& e) { return e * tanh(log1p(exp(e))); }, x);
}

class Net final : public nn::Module {
 public:
  explicit Net(const nn::Scope& scope)
      : Module(scope), hidden_(scope / "hidden", 2, 32), out_(scope / "out", 32, 2) {}
  std::string describe() const override { return "Net"; }

 protected:
  Var forward(const Var& x) override { return out_(mish(hidden_(x))); }

 private:
  nn::Linear hidden_, out_;
};

/// A grid of points, labelled by whether they are inside a circle.
data::Dataset circle(int side) {
  data::Arrays out{.sample = {2}};
  for (int i = 0; i < side * side; ++i) {
    const float x = 2 * static_cast<float>(i % side) / static_cast<float>(side) - 1;
    const float y = 2 * static_cast<float>(i / side) / static_cast<float>(side) - 1;
    out.x.insert(out.x.end(), {x, y});
    out.classes.push_back(x * x + y * y < 0.5F ? 1 : 0);
  }
  return data::from_arrays(std::move(out));
}

int main() {
  const auto apply = [](Tape&, std::span<const Var> in) { return mish(in[0]); };
  fmt::print("{}", check_gradients(apply, {{"x", {5}, {-3, -0.5, 0, 0.5, 3}}}).text());

  Context ctx;
  data::Loaders data(ctx, {circle(50), circle(33)});
  auto model = nn::make_model<Net>("circle", {2}, 2);
  Learner learn(ctx, std::move(model), data, {.metrics = {metrics::accuracy()}});
  learn.fit_one_cycle(6, 0.3F);
}
