#pragma once
#include "data/loading/augmentation.h"
#include "data/loading/loader.h"
#include "data/sets/registry.h"
#include "framework/learner/history/recorder.h"
#include "framework/learner/learner.h"
#include "framework/runtime/transfer.h"
#include "models/registry.h"
#include "tests/support/gradcheck.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace learn::test {

/// A few steps of a model on synthetic10, with SGD: what is compared between devices and runs.
struct ShortTraining {
  std::string model;
  std::int64_t batch = 64;
  std::int64_t steps = 20;
  float lr = 0.01F;
  nn::Loss loss = nn::cross_entropy();
  optim::OptimizerFactory optimizer{};
};

/// Returns the training, made narrow and short enough to take seconds if kernels are interpreted.
[[nodiscard]] inline ShortTraining sized(ShortTraining training) {
  if (interpreted()) {
    training.batch = 4;
    training.steps = 3;
    training.model += ":width=4";
  }
  return training;
}

/// One process of such a training: context, data, learner. The last batch has half the size, and
/// there is a validation pass.
struct ShortRun {
  using Prepare = std::function<void(Learner&)>;

  ShortRun(
      const ContextOptions& device,
      const ShortTraining& training,
      const Prepare& prepare = [](Learner&) {})
      : lr(training.lr),
        ctx(device),
        images(data::load("synthetic10",
                          {.train_limit = training.batch * training.steps - training.batch / 2,
                           .valid_limit = training.batch})),
        batches(ctx,
                images.train,
                {.batch_size = training.batch,
                 .shuffle = true,
                 .normalization = data::kCifarStats,
                 .transforms = data::augmentation("full", 32, 32)}),
        valid(
            ctx, images.valid, {.batch_size = training.batch, .normalization = data::kCifarStats}),
        learn(ctx,
              models::make_model(training.model),
              {batches, valid},
              {.loss = training.loss,
               .optimizer = training.optimizer,
               .metrics = {metrics::accuracy()},
               .report = Report::record}) {
    prepare(learn);
  }

  void fit(std::int64_t epochs = 1) { learn.fit(epochs, static_cast<double>(lr)); }

  /// Losses of all training batches so far.
  [[nodiscard]] std::vector<double> losses() {
    std::vector<double> out;
    for (const auto& batch : learn.find<Recorder>()->batches(learn)) out.push_back(batch.loss);
    return out;
  }
  /// All weights, and all running statistics, on the host.
  [[nodiscard]] std::vector<Tensor> values() {
    return {to_host(ctx, learn.params().flat_master()),
            to_host(ctx, learn.params().flat_buffers())};
  }

  float lr;
  Context ctx;
  data::DataPair images;
  data::Loader batches;
  data::Loader valid;
  Learner learn;
};

}  // namespace learn::test
