// A learner's data can be exchanged, and its model given to another learner.
#include "framework/optim/adam.h"
#include "framework/tensor/factory.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>
#include <utility>

using namespace tiny;

namespace {

/// Data that say what shape their samples have.
class Shaped final : public BatchSource {
 public:
  explicit Shaped(const Shape& shape) : shape_(shape) {}
  [[nodiscard]] std::int64_t batches() const override { return 1; }
  [[nodiscard]] std::int64_t samples() const override { return 1; }
  [[nodiscard]] Shape sample_shape() const override { return shape_; }
  void begin(std::int64_t) override {}
  void visit_state(StateVisitor&) override {}
  [[nodiscard]] bool next(Batch&) override { return false; }

 private:
  Shape shape_;
};

/// Calls a function at the end of each batch.
class AtBatchEnd final : public Callback {
 public:
  explicit AtBatchEnd(std::function<void(Learner&)> action) : action_(std::move(action)) {}
  [[nodiscard]] std::string_view name() const override { return "at_batch_end"; }
  void batch_end(Learner& l) override { action_(l); }

 private:
  std::function<void(Learner&)> action_;
};

}  // namespace

TEST_CASE("a learner trains and validates on the data it was given last") {
  Training t({2, 2}, {2});
  Data larger({3, 3, 1});
  Data other({4, 1});
  t.learn.fit(2, 0.1);
  t.learn.set_data({larger, other});
  CHECK(&t.learn.train_source() == &larger);
  t.learn.fit(1, 0.1);
  CHECK(t.train.epochs_begun == std::vector<std::int64_t>{0, 1});
  CHECK(larger.epochs_begun == std::vector<std::int64_t>{2});
  CHECK(t.learn.progress().batch_clock == 7);
  CHECK(t.learn.results().valid_samples == 5);
  t.learn.set_data(t.train);
  t.learn.fit(1, 0.1);
  CHECK(t.learn.progress().batch_clock == 9);
  CHECK(t.learn.valid_source() == nullptr);
}

TEST_CASE("data whose samples have two shapes are refused, and the previous data are kept") {
  Training t;
  Shaped wide({8, 4, 3});
  Shaped high({4, 8, 3});
  CHECK_THROWS_AS(t.learn.set_data({wide, high}), DataError);
  CHECK(&t.learn.train_source() == &t.train);
  CHECK(t.learn.valid_source() == &t.valid);
  auto& asks = t.learn.add<AtBatchEnd>([&](Learner& l) { l.set_data(t.train); });
  CHECK_THROWS_AS(t.learn.fit(1, 0.1), std::logic_error);
  t.learn.remove(asks);
}

TEST_CASE("different data end the plan of a loaded fit, and the next fit is new") {
  Training t({2, 2}, {2});
  auto& stops = t.learn.add<AtBatchEnd>([](Learner& l) {
    if (l.progress().batch_clock == 1) l.cancel(Scope::train);
  });
  t.learn.fit(2, 0.1);
  t.learn.remove(stops);
  test::MemoryState state;
  test::MemorySaver saver(state);
  t.learn.visit_state(saver);
  test::MemoryLoader loader(state);
  t.learn.visit_state(loader);
  t.learn.resume();
  Data larger({3, 3, 1});
  t.learn.set_data(larger);
  t.learn.fit(1, 0.2);  // not the 2 epochs, nor the rate, of the fit that was saved
  CHECK_FALSE(t.learn.progress().resumed);
  CHECK(t.learn.progress().batch_clock == 4);
  CHECK(larger.epochs_begun == std::vector<std::int64_t>{0});
}

TEST_CASE("a model is taken out with its weights and statistics, and trained by another learner") {
  Training t({2, 2}, {2}, {.optimizer = optim::adam({})});
  t.learn.fit(2, 0.1);
  const std::vector<double> masters = values(t.learn.params().flat_master());
  const std::vector<double> buffers = values(t.learn.params().flat_buffers());
  CHECK_FALSE(t.learn.params().states().empty());
  Learner next(t.ctx,
               std::move(t.learn).take_model(),
               {t.train, t.valid},
               Training::with_loss({.optimizer = optim::adam({})}));
  CHECK(values(next.params().flat_master()) == masters);
  CHECK(values(next.params().flat_buffers()) == buffers);
  for (auto& [name, moments] : next.params().states())
    for (const double moment : values(moments.values)) CHECK(moment == 0);
  next.fit(1, 0.1);
  CHECK(values(next.params().flat_master()) != masters);
}

TEST_CASE("a learner whose model was taken reports it, and can still be read and destroyed") {
  Training t({2, 2}, {2}, {.optimizer = optim::adam({})});
  t.learn.fit(1, 0.1);
  const double loss = t.learn.results().train_loss;
  { const Model taken = std::move(t.learn).take_model(); }
  class Nothing final : public Callback {
   public:
    [[nodiscard]] std::string_view name() const override { return "nothing"; }
    void train_begin(Learner&) override {}
  };
  Learner& learn = t.learn;
  MemoryState saved;
  MemorySaver saver(saved);
  const std::vector<std::function<void()>> uses{
      [&] { learn.fit(1); },
      [&] { learn.fit_one_cycle(1, 0.1); },
      [&] { learn.fit_flat_cos(1, 0.1); },
      [&] { (void)learn.lr_find(); },
      [&] { (void)learn.batch_size_find({}); },
      [&] { learn.validate(); },
      [&] { (void)learn.get_preds(t.valid); },
      [&] {
        (void)learn.predict(full(t.ctx.persistent(), {1, 3}, DType::f32, 0));
      },
      [&] { learn.add<Nothing>(); },
      [&] { learn.set_data(t.train); },
      [&] { (void)std::move(learn).take_model(); },
      [&] { learn.split({}); },
      [&] { learn.freeze(); },
      [&] { learn.unfreeze(); },
      [&] { learn.keep_f32({}); },
      [&] { learn.visit_state(saver); },
      [&] { learn.resume(); },
      [&] { (void)learn.captured_options(); },
      [&] { learn.sync_step_clock(); },
      [&] { (void)learn.model(); },
      [&] { (void)learn.model_info(); },
      [&] { (void)learn.params(); },
      [&] { (void)learn.optimizer(); },
  };
  for (std::size_t i = 0; i < uses.size(); ++i) {
    CAPTURE(i);
    CHECK_THROWS_WITH_AS(
        uses[i](), doctest::Contains("was moved out by take_model()"), std::logic_error);
  }
  CHECK(learn.results().train_loss == loss);
  CHECK_FALSE(learn.explain().empty());
}
