// Calls of one line, each equal to the longer way.
#include "framework/io/checkpoint.h"
#include "framework/learner/param_scheduler.h"
#include "framework/nn/summary.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

using namespace tiny;

namespace {

/// The rate of the weight of each layer group, 0 for a frozen one, at each update.
class Rates final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "rates"; }
  void step_begin(Learner& learn) override {
    std::vector<float> row;
    for (int group = 0; group < learn.params().layer_groups(); ++group) {
      bool trained = false;
      for (std::int64_t i = 0; i < learn.params().size(); ++i)
        trained = trained || (learn.params().info(i).layer_group == group &&
                              learn.params().info(i).name.ends_with("weight") &&
                              learn.params().slot(i).trainable);
      row.push_back(trained ? learn.optimizer().lr(group) : 0);
    }
    rows.push_back(row);
  }
  std::vector<std::vector<float>> rows;
};

std::vector<double> weights(Learner& learn) { return values(learn.params().flat_master()); }

}  // namespace

TEST_CASE("fine_tune is fastai's policy, step by step") {
  Training t({2, 2}, {}, {}, two_scales()), by_hand({2, 2}, {}, {}, two_scales());
  t.learn.split({"second"});
  by_hand.learn.split({"second"});
  const Rates& rates = t.learn.add<Rates>();
  t.learn.fine_tune(2, 0.02);
  by_hand.learn.freeze();
  by_hand.learn.fit_one_cycle(1, optim::last_group(0.02), {.pct_start = 0.99});
  by_hand.learn.unfreeze();
  by_hand.learn.fit_one_cycle(2, range(0.0001, 0.01), {.pct_start = 0.3, .div = 5});
  CHECK(weights(t.learn) == weights(by_hand.learn));
  REQUIRE(rates.rows.size() == 6);
  CHECK(rates.rows[0][0] == 0);
  CHECK(rates.rows[1][0] == 0);
  for (std::size_t i = 2; i < 6; ++i)
    CHECK(rates.rows[i][1] / rates.rows[i][0] == doctest::Approx(100));
  CHECK(rates.rows[2][1] == doctest::Approx(0.002));
}

TEST_CASE("fine_tune takes its options and the callbacks of both of its fits") {
  Training t({2, 2}, {}, {}, two_scales());
  t.learn.split({"second"});
  const auto rates = std::make_shared<Rates>();
  t.learn.fine_tune(1, 0.02, {.freeze_epochs = 2, .lr_mult = 10, .div = 2}, {rates});
  REQUIRE(rates->rows.size() == 6);
  CHECK(rates->rows[3][0] == 0);
  CHECK(rates->rows[4][1] == doctest::Approx(0.005));
  CHECK(rates->rows[4][0] == doctest::Approx(0.0005));
}

TEST_CASE("fine_tune splits a model with default groups, and refuses one without") {
  nn::Model model = two_scales();
  model.split = {"second"};
  Training t({2, 2}, {}, {}, std::move(model));
  t.learn.fine_tune(1);
  CHECK(t.learn.params().layer_groups() == 2);
  Training whole({2, 2}, {});
  CHECK_THROWS_WITH_AS(whole.learn.fine_tune(1),
                       doctest::Contains("fine_tune: the model has one layer group"),
                       UsageError);
  CHECK_THROWS_WITH_AS(t.learn.fine_tune(1, 1e-3, {.lr_mult = 0}),
                       "fine_tune: lr_mult must be positive, not 0",
                       UsageError);
}

TEST_CASE("fit_sgdr trains for all of its cycles, each from the full rate down") {
  Training t({2, 2}, {});
  const Rates& rates = t.learn.add<Rates>();
  t.learn.fit_sgdr(0.5, {.cycles = 2, .cycle_len = 1, .cycle_mult = 2});
  REQUIRE(rates.rows.size() == 6);
  const std::vector<double> expected{0.5, 0.25, 0.5, 0.4267767, 0.25, 0.0732233};
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(rates.rows[i][0] == doctest::Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("save and load move a training to another learner, which continues to the same bits") {
  const TemporaryFolder folder;
  Training whole({2, 2}, {}), first({2, 2}, {}), second({2, 2}, {});
  whole.learn.fit(2, 0.1);
  whole.learn.fit(1, 0.1);
  first.learn.fit(2, 0.1);
  first.learn.save(folder / "state.safetensors");
  second.learn.load(folder / "state.safetensors");
  CHECK(second.learn.progress().batch_clock == 4);
  second.learn.fit(1, 0.1);
  CHECK(weights(second.learn) == weights(whole.learn));
}

TEST_CASE("save_weights and load_weights take weights, and refuse another model's") {
  const TemporaryFolder folder;
  Training from({2, 2}, {}), to({2, 2}, {}), other({2, 2}, {}, {}, two_scales());
  from.learn.fit(1, 0.1);
  from.learn.save_weights(folder / "w.safetensors");
  to.learn.load_weights(folder / "w.safetensors");
  CHECK(weights(to.learn) == weights(from.learn));
  CHECK(to.learn.progress().batch_clock == 0);
  const std::vector<double> before = weights(other.learn);
  CHECK_THROWS_AS(other.learn.load_weights(folder / "w.safetensors"), CheckpointError);
  CHECK(weights(other.learn) == before);
}

TEST_CASE("evaluate measures another source and leaves the learner's own") {
  Training t({2, 2}, {2});
  Data test({3, 3});
  const double own = t.learn.validate().valid_loss;
  const PassResults& results = t.learn.evaluate(test);
  CHECK(results.valid_samples == 6);
  CHECK(results.valid_loss != own);
  CHECK(t.learn.valid_source() == &t.valid);
  CHECK(t.learn.validate().valid_loss == own);
}

TEST_CASE("add_cb and add_cbs take callbacks that exist") {
  Training t({2, 2}, {});
  const Rates& added = t.learn.add_cb(Rates());
  t.learn.fit(1);
  CHECK(added.rows.size() == 2);
  t.learn.add_cbs(
      ParamScheduler({{.hyper = Hyper::lr, .schedules = {optim::schedules::constant(1)}}}));
  CHECK(t.learn.find<ParamScheduler>() != nullptr);
}

TEST_CASE("summary is the table of nn::summary") {
  Training t;
  CHECK(t.learn.summary() == nn::summary(t.learn.model(), t.learn.params(), {kFeatures}, t.ctx));
}

TEST_CASE("long operations and writes to the learner are refused in a handler") {
  class Calls final : public Callback {
   public:
    explicit Calls(const std::filesystem::path& folder) : folder_(folder) {}
    [[nodiscard]] std::string_view name() const override { return "calls"; }
    void batch_begin(Learner& learn) override {
      Data more({1});
      CHECK_THROWS_AS(learn.fine_tune(1), std::logic_error);
      CHECK_THROWS_AS(learn.fit_sgdr(1), std::logic_error);
      CHECK_THROWS_AS(learn.evaluate(more), std::logic_error);
      learn.save(folder_ / "x");  // as a callback that keeps the best does
      learn.save_weights(folder_ / "y");
      CHECK_THROWS_AS(learn.load(folder_ / "x"), std::logic_error);
      CHECK_THROWS_AS(learn.load_weights(folder_ / "x"), std::logic_error);
      CHECK_THROWS_AS((void)learn.enter_sandbox(), std::logic_error);
      ++called;
    }
    int called = 0;

   private:
    std::filesystem::path folder_;
  };
  const TemporaryFolder folder;
  Training t({2}, {});
  const Calls& calls = t.learn.add<Calls>(folder.path());
  t.learn.fit(1);
  CHECK(calls.called == 1);
}
