// A custom callback, and a training that uses it: a warning when the gradient's norm jumps.
#include "callbacks/precision/mixed_precision.h"
#include "data/loading/loaders.h"
#include "framework/learner/learner.h"
#include "framework/optim/gradients.h"
#include "models/registry.h"

#include <fmt/core.h>

using namespace learn;

class GradientWatch final : public Callback {
 public:
  std::string_view name() const override { return "gradient_watch"; }
  void step_begin(Learner& learn) override {  // unscaled here, whatever the precision
    Tensor norm = learn.context().empty({1}, DType::f32);
    optim::gradient_norm(learn.grads(), norm);
    const float now = norm.item<float>();
    if (before_ > 0 && now > 3 * before_)
      fmt::print("batch {}: norm {:.3f} -> {:.3f}\n", learn.progress().batch_clock, before_, now);
    before_ = now;
  }

 private:
  float before_ = 0;
};

int main() {
  Context ctx;
  data::Loaders data(ctx, data::load("synthetic10", {.train_limit = 512, .valid_limit = 128}));
  Learner learn(ctx, models::make_model("mlp", data), data);
  learn.add<GradientWatch>();
  callbacks::to_bf16(learn);
  learn.fit_one_cycle(2, 0.05);
  fmt::print("{}\ntrain loss {:.3f}\n", learn.explain(), learn.results().train_loss);
}
