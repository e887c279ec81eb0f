#include "callbacks/mixed_precision.h"
#include "callbacks/progress.h"
#include "callbacks/recorder.h"
#include "data/loader.h"
#include "data/registry.h"
#include "framework/learner/learner.h"
#include "models/registry.h"

using namespace learn;

int main() {
  Context ctx;  // a GPU if there is one, else the CPU; threads, memory, seed
  const auto pictures = data::load("synthetic10", {.train_limit = 10000, .valid_limit = 2000});
  const auto stats = data::measure(pictures.train);
  const auto augment = data::augmentation("basic", 32, 32);  // reflect-pad, crop, mirror
  data::Loader train(
      ctx, pictures.train, {.shuffle = true, .normalization = stats, .transforms = augment});
  data::Loader valid(ctx, pictures.valid, {.batch_size = 250, .normalization = stats});
  Learner learn(
      ctx, models::make_model("small"), train, &valid, {.metrics = {metrics::accuracy()}});
  learn.add<callbacks::Recorder>();
  learn.add<callbacks::Progress>();
  callbacks::to_fp16(learn);
  learn.fit_one_cycle(5, 0.1);
}
