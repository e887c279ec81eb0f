// An optimizer of one's own, Lion, trains in mixed precision on whatever device there is.
#include "apps/examples/lion.h"
#include "callbacks/mixed_precision.h"
#include "data/loaders.h"
#include "framework/learner/learner.h"
#include "models/registry.h"

#include <fmt/core.h>

using namespace learn;

int main() {
  Context ctx;
  data::Loaders data(ctx, data::load("synthetic10", {.train_limit = 512, .valid_limit = 128}));
  Learner learn(ctx,
                models::make_model("mlp", data),
                data,
                {.optimizer = examples::lion({.weight_decay = 0.1F})});
  callbacks::to_bf16(learn);
  learn.fit_one_cycle(4, 0.0005);
  fmt::print("{}\ntrain loss {:.3f}\n", learn.explain(), learn.results().train_loss);
}
