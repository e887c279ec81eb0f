#pragma once
#include "callbacks/data_parallel.h"
#include "callbacks/lambda.h"
#include "data/loading/loader.h"
#include "data/sets/arrays.h"
#include "framework/learner/learner.h"
#include "framework/metrics/metric.h"
#include "framework/nn/layers.h"
#include "framework/optim/sgd.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"
#include "tests/support/rank_threads.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// A training that several ranks, which are threads, share: a small net on images.
namespace bars {

using namespace learn;

using testing::run_ranks;
using testing::ThreadCommunicator;

inline constexpr unsigned kSeed = 20261128;
inline constexpr std::int64_t kSide = 8;
inline constexpr std::int64_t kColors = 3;
inline constexpr int kClasses = 3;
inline constexpr double kRate = 0.05;

/// Images of noise with a bright bar, whose place is the class.
inline data::Dataset bar_images(std::int64_t samples) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> noise(0, 0.5F);
  data::Arrays out{.sample = {kSide, kSide, kColors}};
  for (std::int64_t i = 0; i < samples; ++i) {
    out.classes.push_back(i % kClasses);
    for (std::int64_t y = 0; y < kSide; ++y)
      for (std::int64_t rest = 0; rest < kSide * kColors; ++rest)
        out.x.push_back(noise(random) + (y / kClasses == i % kClasses ? 1.0F : 0.0F));
  }
  return data::from_arrays(std::move(out));
}

struct Parts {
  bool batch_norm = false;
  double dropout = 0;
};

class Net final : public nn::Module {
 public:
  explicit Net(const nn::Scope& scope, const Parts& parts)
      : Module(scope),
        conv_(scope / "conv", kColors, 8, {.bias = !parts.batch_norm}),
        act_(scope / "act", ActivationKind::relu()),
        pool_(scope / "pool", 2),
        flatten_(scope / "flatten"),
        drop_(scope / "drop", parts.dropout),
        last_(scope / "last", kSide * kSide / 4 * 8, kClasses) {
    if (parts.batch_norm) norm_.emplace(scope / "norm", 8);
  }
  [[nodiscard]] std::string describe() const override { return "Net"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override {
    const Var y = conv_(x);
    return last_(drop_(flatten_(pool_(act_(norm_ ? (*norm_)(y) : y)))));
  }

 private:
  nn::Conv2d conv_;
  nn::Activation act_;
  nn::MaxPool2d pool_;
  nn::Flatten flatten_;
  nn::Dropout drop_;
  nn::Linear last_;
  std::optional<nn::BatchNorm2d> norm_;
};

struct Case {
  std::string name;
  Parts parts{};
  std::int64_t samples = 44;
  std::int64_t batch = 12;
  std::int64_t epochs = 5;
  bool winograd = true;
  bool capturable = true;  ///< on a GPU
  std::vector<float> class_weights{};
  std::function<void(Learner&)> callbacks = [](Learner&) {};
  /// Replaces the fit of `epochs`.
  std::function<void(Learner&)> fit{};
  /// Relative difference of the losses of 20 steps.
  double tolerance = 2e-5;
};

/// Bit for bit, NaN included.
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

/// The results of a training.
struct Trained {
  std::vector<double> losses;   // of each batch
  std::vector<double> results;  // of each epoch: losses and metrics
  std::vector<float> weights, statistics;
  StepControl control;
  friend bool operator==(const Trained& a, const Trained& b) {
    return same(a.losses, b.losses) && same(a.results, b.results) && same(a.weights, b.weights) &&
           same(a.statistics, b.statistics) && a.control.skipped == b.control.skipped &&
           a.control.loss_scale == b.control.loss_scale;
  }
};

inline std::vector<float> floats(const Tensor& tensor) {
  const auto values = tensor.span<float>();
  return {values.begin(), values.end()};
}

/// A training of one process, or of one of the ranks that `join` joins.
inline Trained train(const Case& c, Context& ctx, const std::function<void(Learner&)>& join) {
  const data::Dataset training = bar_images(c.samples);
  const data::Dataset validation = bar_images(7);
  data::Loader train(ctx, training, {.batch_size = c.batch, .shuffle = true, .workers = 0});
  data::Loader valid(ctx, validation, {.batch_size = 4, .workers = 0});
  LearnerOptions options;
  options.report = Report::off;
  options.optimizer = optim::sgd({.momentum = 0.9F, .weight_decay = 1e-3F});
  options.metrics = {metrics::accuracy(), metrics::f1(), metrics::auc()};
  options.train_metrics = true;
  if (!c.class_weights.empty())
    options.loss = nn::weighted_cross_entropy(
        to_device(ctx, ctx.persistent(), host_tensor<float>({kClasses}, c.class_weights)));
  Learner learn(ctx,
                nn::make_model<Net>("net", {kSide, kSide, kColors}, kClasses, c.parts),
                {train, valid},
                options);
  join(learn);
  c.callbacks(learn);
  Trained out;
  callbacks::on(learn, Event::batch_end, [&](Learner& l) {
    if (l.progress().training) out.losses.push_back(get(to_host(ctx, l.batch().loss.value()), 0));
  });
  callbacks::on(learn, Event::epoch_end, [&](Learner& l) {
    const PassResults& results = l.results();
    out.results.insert(out.results.end(), {results.train_loss, results.valid_loss});
    for (const auto& [name, value] : results.metrics) out.results.push_back(value);
    for (const auto& [name, value] : results.train_metrics) out.results.push_back(value);
  });
  if (c.fit)
    c.fit(learn);
  else
    learn.fit(c.epochs, kRate);
  out.weights = floats(to_host(ctx, learn.params().flat_master()));
  out.statistics = floats(to_host(ctx, learn.params().flat_buffers()));
  out.control = learn.optimizer().read_control();
  return out;
}

/// On the CPU. Without a communicator it is one process.
inline Trained train(const Case& c,
                     Communicator* communicator,
                     const callbacks::DataParallelOptions& o) {
  Context ctx({.threads = 1, .winograd = c.winograd, .arena = {.poison = true}});
  return train(c, ctx, [&](Learner& learn) {
    if (communicator != nullptr) learn.add<callbacks::DataParallel>(*communicator, o);
  });
}

/// Rank 0's, which is everyone's.
inline Trained train_in_ranks(const Case& c,
                              int ranks,
                              const callbacks::DataParallelOptions& o = {}) {
  std::vector<Trained> all(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](ThreadCommunicator& communicator) {
    all[static_cast<std::size_t>(communicator.place().rank)] = train(c, &communicator, o);
  });
  for (const Trained& other : all) CHECK(other == all.front());
  return all.front();
}

}  // namespace bars
