#pragma once
#include "data/loading/loader.h"
#include "data/sets/registry.h"
#include "framework/learner/learner.h"
#include "framework/optim/adam.h"
#include "models/registry.h"

namespace learn {

/// Trains `model` on a pair of data sets as the quickstart does and returns the accuracy on the
/// second.
inline double trained_accuracy(const data::DataPair& images,
                               std::string_view model,
                               std::int64_t epochs) {
  Context ctx({.seed = 7});
  const data::Normalization stats = data::measure(images.train);
  data::Loader train(ctx, images.train, {.shuffle = true, .normalization = stats});
  data::Loader valid(ctx, images.valid, {.batch_size = 250, .normalization = stats});
  Learner learn(ctx,
                models::make_model(model),
                {train, valid},
                {.optimizer = optim::adamw({.weight_decay = 0.01F}),
                 .metrics = {metrics::accuracy()},
                 .report = Report::off});
  learn.fit_one_cycle(epochs, 0.01);
  return learn.results().metrics.at(0).second;
}

}  // namespace learn
