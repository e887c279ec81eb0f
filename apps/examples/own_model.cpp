// A custom model, trained on in-memory arrays: which of three spirals is a point on?
#include "data/loading/loader.h"
#include "data/sets/arrays.h"
#include "framework/autograd/ops.h"
#include "framework/core/random.h"
#include "framework/learner/learner.h"
#include "framework/nn/layers.h"
#include "framework/tensor/host_tensor.h"

#include <fmt/core.h>

#include <cmath>

using namespace learn;

class SpiralNet final : public nn::Module {
 public:
  SpiralNet(const nn::Scope& scope, std::int64_t width)
      : Module(scope),
        first_(scope / "first", 2, width),
        second_(scope / "second", width, width),
        last_(scope / "last", width, 3) {}
  std::string describe() const override { return "SpiralNet"; }

 protected:
  Var forward(const Var& x) override { return last_(ops::relu(second_(ops::relu(first_(x))))); }

 private:
  nn::Linear first_, second_, last_;
};

/// Returns points (x, y) near three spiral arms.
data::Dataset spirals(int points, std::uint64_t seed) {
  data::Arrays out{.sample = {2}};
  for (int i = 0; i < points; ++i) {
    const Random4 draw = random4(seed, RandomPurpose::test, 0, static_cast<std::uint64_t>(i));
    const int arm = i % 3;
    const float radius = uniform01(draw.v[0]);
    const float angle = 2.1F * static_cast<float>(arm) + 4 * radius + 0.3F * uniform01(draw.v[1]);
    out.x.insert(out.x.end(), {radius * std::cos(angle), radius * std::sin(angle)});
    out.classes.push_back(arm);
  }
  return data::from_arrays(std::move(out));
}

int main() {
  Context ctx;
  const data::Dataset training = spirals(3000, 1), validation = spirals(600, 2);
  data::Loader train(ctx, training, {.shuffle = true});
  data::Loader valid(ctx, validation, {});
  Learner learn(ctx,
                nn::make_model<SpiralNet>("spirals", train.sample_shape(), train.classes(), 64),
                {train, valid},
                {.metrics = {metrics::accuracy()}});
  learn.fit_one_cycle(10, 0.1);
  const std::vector<float> point{0.5F, 0.5F};
  const Tensor probabilities = learn.predict(host_tensor<float>({1, 2}, point));
  for (const float p : probabilities.span<float>()) fmt::print("{:.3f}\n", p);
}
