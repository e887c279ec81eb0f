#pragma once
#include "data/loading/pass_position.h"
#include "framework/autograd/ops.h"
#include "framework/learner/learner.h"
#include "framework/metrics/metric_registry.h"
#include "framework/nn/layers.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// A training of a convolution, a global pool and a linear layer on a few small images.
namespace learn::test {

inline constexpr std::int64_t kSide = 6;
inline constexpr std::int64_t kChannels = 3;
inline constexpr std::int64_t kPixels = kSide * kSide * kChannels;
inline constexpr int kClasses = 4;
inline constexpr std::uint64_t kSeed = 5;

using Numbers = std::vector<double>;

inline Numbers numbers(const Tensor& tensor) {
  Numbers out;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) out.push_back(get(tensor, i));
  return out;
}

/// Images with classes, or with several labels, that depend on the number of the sample.
class Images final : public BatchSource {
 public:
  Images(std::vector<std::int64_t> sizes, bool labels)
      : sizes_(std::move(sizes)), labels_(labels) {}
  [[nodiscard]] std::int64_t batches() const override {
    return static_cast<std::int64_t>(sizes_.size());
  }
  [[nodiscard]] std::int64_t samples() const override {
    std::int64_t sum = 0;
    for (const std::int64_t size : sizes_) sum += size;
    return sum;
  }
  void begin(std::int64_t epoch) override {
    position_.batch = position_.first_batch(epoch);
    position_.epoch = epoch;
  }
  void visit_state(StateVisitor& visitor) override { position_.visit_state(visitor, batches()); }
  [[nodiscard]] bool next(Batch& batch) override {
    if (position_.batch == batches()) return false;
    const auto number = position_.batch++;
    const std::int64_t size = sizes_[static_cast<std::size_t>(number)];
    batch.x = Tensor(arena_, {size, kSide, kSide, kChannels}, DType::f32);
    for (std::int64_t i = 0; i < batch.x.elements(); ++i)
      set(batch.x, i, std::sin(static_cast<double>(number * 7000 + i)));
    batch.y =
        labels_ ? Tensor(arena_, {size, kClasses}, DType::f32) : Tensor(arena_, {size}, DType::i64);
    for (std::int64_t i = 0; i < batch.y.elements(); ++i)
      set(batch.y, i, static_cast<double>((i * 5 + number) % (labels_ ? 2 : kClasses)));
    return true;
  }

 private:
  Arena arena_{"images", cpu_pages()};
  std::vector<std::int64_t> sizes_;
  bool labels_;
  data::PassPosition position_;
};

class Net final : public nn::Module {
 public:
  explicit Net(const nn::Scope& scope)
      : Module(scope),
        first_(scope / "first", kChannels, 8 * kChannels, {.kernel = 2, .pad = 0}),
        pool_(scope / "pool"),
        last_(scope / "last", 8 * kChannels, kClasses) {}
  [[nodiscard]] std::string describe() const override { return "Net"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override { return last_(ops::flatten(pool_(first_(x)))); }

 private:
  nn::Conv2d first_;
  nn::GlobalAvgPool pool_;
  nn::Linear last_;
};

struct ImageTraining {
  explicit ImageTraining(nn::Loss loss = nn::cross_entropy(),
                         std::vector<std::int64_t> sizes = {4, 3, 5},
                         bool labels = false)
      : train(sizes, labels),
        valid({4}, labels),
        learn(ctx,
              nn::make_model<Net>("net", {kSide, kSide, kChannels}, kClasses),
              {train, valid},
              {.loss = std::move(loss),
               .optimizer = optim::sgd({.momentum = 0.9F}),
               .metrics = {accuracy()},
               .train_metrics = true,
               .report = Report::off}) {}
  [[nodiscard]] static Metric accuracy() {
    const std::string name = "accuracy";
    return make_metrics({&name, 1}).front();
  }

  Context ctx{{.threads = 1, .seed = kSeed}};
  Images train, valid;
  Learner learn;
};

}  // namespace learn::test
