// A custom schedule: a rise over the first tenth of the training, then a decay with the inverse
// square root, as used for Transformers.
#include "data/loading/loaders.h"
#include "data/sets/arrays.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"
#include "framework/learner/param_scheduler.h"
#include "framework/nn/layers.h"

#include <fmt/core.h>

#include <cmath>

using namespace learn;

/// A schedule is a function of the progress t of a fit, from 0 to 1.
optim::Schedule inverse_root(double peak, double rise) {
  return [=](double t) { return t < rise ? peak * t / rise : peak * std::sqrt(rise / t); };
}

/// Is x in the middle of [-1, 1]?
data::Dataset points(int count) {
  data::Arrays out{.sample = {1}};
  for (int i = 0; i < count; ++i) {
    out.x.push_back(2 * static_cast<float>(i) / static_cast<float>(count) - 1);
    out.classes.push_back(std::abs(out.x.back()) < 0.5F ? 1 : 0);
  }
  return data::from_arrays(std::move(out));
}

int main() {
  Context ctx;
  data::Loaders data(ctx, {points(2048), points(300)});
  auto model = nn::make_model<nn::Sequential>("middle", {1}, 2, [](nn::Sequential& layers) {
    layers.emplace<nn::Linear>(1, 32);
    layers.emplace<nn::Activation>(ActivationKind::relu());
    layers.emplace<nn::Linear>(32, 2);
  });
  Learner learn(ctx, std::move(model), data, {.metrics = {metrics::accuracy()}});
  const ScheduledHyper rate{Hyper::lr, {inverse_root(0.2, 0.1)}};
  learn.fit(5, 0.1F, {std::make_shared<ParamScheduler>(std::vector{rate})});
  const auto& batches = learn.find<Recorder>()->batches(learn);
  for (const std::size_t batch : {1U, 8U, 16U, 64U, 160U})
    fmt::print("batch {:3}: learning rate {:.3f}\n", batch, batches[batch - 1].lr);
}
