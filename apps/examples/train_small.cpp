#include "framework/learn.h"

using namespace learn;

int main() {
  Context ctx;  // a GPU if there is one, else the CPU
  data::Loaders data(ctx, data::load("synthetic10", {.train_limit = 10000, .valid_limit = 2000}));
  Learner learn(ctx, models::make_model("small", data), data, {.metrics = {metrics::accuracy()}});
  callbacks::to_fp16(learn);
  learn.fit_one_cycle(5, 0.1);
}
