// A custom optimizer, Lion, trains in mixed precision on any device: is a point in an even or an
// odd quadrant?
#include "apps/examples/lion.h"
#include "apps/examples/quadrants.h"
#include "callbacks/precision/mixed_precision.h"
#include "data/loading/loaders.h"
#include "framework/learner/learner.h"

using namespace learn;

int main() {
  Context ctx;
  data::Loaders data(ctx, {examples::points(2048), examples::points(512)});
  Learner learn(
      ctx,
      examples::net(),
      data,
      {.optimizer = examples::lion({.weight_decay = 0.1F}), .metrics = {metrics::accuracy()}});
  callbacks::to_bf16(learn);
  learn.fit_one_cycle(4, 0.01);
}
