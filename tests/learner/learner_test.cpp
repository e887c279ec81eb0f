#include "framework/learner/learner.h"

#include "framework/kernels/step/gradients.h"
#include "framework/learner/graph_step.h"
#include "framework/learner/history/progress.h"
#include "framework/learner/history/recorder.h"
#include "framework/tensor/factory.h"
#include "tests/learner/tiny_training.h"
#include "tests/learner/tracer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>

using namespace tiny;

namespace {

/// A callback of a given name and order that hears batch_begin.
class Named final : public Callback {
 public:
  Named(std::string name, int order, std::string claim = {})
      : name_(std::move(name)), order_(order), claim_(std::move(claim)) {}
  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] int order() const override { return order_; }
  [[nodiscard]] std::vector<std::string> claims() const override {
    return claim_.empty() ? std::vector<std::string>{} : std::vector{claim_};
  }
  void batch_begin(Learner&) override {}

 private:
  std::string name_;
  int order_;
  std::string claim_;
};

struct Snapshot {
  explicit Snapshot(Learner& l)
      : masters(values(l.params().flat_master())), buffers(values(l.params().flat_buffers())) {
    for (auto& [name, state] : l.params().states()) states[name] = values(state.values);
  }
  bool operator==(const Snapshot&) const = default;
  std::vector<double> masters, buffers;
  std::map<std::string, std::vector<double>> states;
};

}  // namespace

TEST_CASE("callbacks run by order, ties in order of addition") {
  Training t;
  t.learn.add<Named>("c", 5);
  t.learn.add<Named>("a", -5);
  t.learn.add<Named>("d", 5);
  t.learn.add<Named>("b", 0);
  std::string names;
  for (const Callback* callback : t.learn.callbacks().listeners(Event::batch_begin))
    names += callback->name();
  CHECK(names == "abcd");
  CHECK(t.learn.callbacks().listeners(Event::step_begin).empty());
}

TEST_CASE("explain prints the loop with the listeners of each event") {
  Training t;
  CHECK(t.learn.explain() == kLoop);
  t.learn.add<Named>("late", 5);
  t.learn.add<Named>("early", -5);
  std::string text = t.learn.explain();
  CHECK(
      text.starts_with("train_begin\n"
                       "for each epoch:\n"
                       "  epoch_begin\n"
                       "  for each training batch:\n"
                       "    batch_begin       early, late\n"
                       "    pred = model(x)\n"));
  const std::string names = "       early, late";
  for (const char* const pass : {"training", "validation"}) {
    CAPTURE(pass);
    REQUIRE(text.find(names) != std::string::npos);
    text.erase(text.find(names), names.size());
  }
  CHECK(text == kLoop);
}

TEST_CASE("a learner records and reports by default, unless disabled") {
  Training t;
  const auto present = [&](LearnerOptions options) {
    options.loss = square_loss();
    const Learner learn(t.ctx, Training::make_scale(), t.train, std::move(options));
    return std::pair(learn.find<Recorder>() != nullptr, learn.find<Progress>() != nullptr);
  };
  CHECK(present({}) == std::pair(true, true));
  CHECK(present({.report = Report::record}) == std::pair(true, false));
  CHECK(present({.report = Report::off}) == std::pair(false, false));
  Learner recorded(t.ctx,
                   Training::make_scale(),
                   {t.train, t.valid},
                   {.loss = square_loss(), .report = Report::record});
  recorded.fit(2, 0.1);
  REQUIRE(recorded.find<Recorder>()->epochs().size() == 2);
  CHECK(recorded.find<Recorder>()->epochs()[1].valid_loss == recorded.results().valid_loss);
}

TEST_CASE("two callbacks with one claim are refused by name") {
  Training t;
  t.learn.add<Named>("first", 0, "set the weather");
  t.learn.add<Named>("other", 0, "set the tide");
  CHECK_THROWS_WITH_AS(t.learn.add<Named>("second", 0, "set the weather"),
                       "callbacks 'first' and 'second' both set the weather: remove one of them",
                       UsageError);
  CHECK(t.learn.callbacks().listeners(Event::batch_begin).size() == 2);
}

TEST_CASE("find and remove") {
  Training t;
  auto& named = t.learn.add<Named>("a", 0);
  CHECK(t.learn.find<Named>() == &named);
  CHECK(t.learn.find<Tracer>() == nullptr);
  t.learn.remove(named);
  CHECK(t.learn.find<Named>() == nullptr);
  const Named stranger("b", 0);
  CHECK_THROWS_AS(t.learn.remove(stranger), UsageError);
}

TEST_CASE("misuse is reported before anything runs") {
  Training t;
  CHECK_THROWS_AS(t.learn.fit(-1), UsageError);
  CHECK_THROWS_AS(t.learn.fit(1, {0.1, 0.2, 0.3}), UsageError);
  CHECK_THROWS_AS(t.learn.fit_one_cycle(1, 0.1, {.pct_start = -0.5}), UsageError);
  CHECK_THROWS_AS(t.learn.fit_one_cycle(1, 0.1, {.div = 0}), UsageError);
  CHECK_THROWS_AS(t.learn.fit_flat_cos(1, 0.1, 1e5, 1.5), UsageError);
  Training no_valid({2}, {});
  CHECK_THROWS_AS(no_valid.learn.validate(), UsageError);
  Training no_data({}, {});
  CHECK_THROWS_AS(no_data.learn.fit(1), UsageError);
  CHECK_THROWS_WITH_AS(
      t.learn.insert(nullptr, {}), doctest::Contains("a null callback was added"), UsageError);
  CHECK_THROWS_WITH_AS(
      t.learn.set_step_runner(nullptr), doctest::Contains("set_step_runner: null"), UsageError);
  CHECK_THROWS_WITH_AS(Training({2}, {}, {}, nn::Model{}),
                       doctest::Contains("model has no parameters or no module"),
                       UsageError);
}

TEST_CASE("a step cannot be captured on a CPU") {
  Context ctx({.device = Device::cpu(), .threads = 1});
  GraphStepCounts counts;
  CHECK_THROWS_WITH_AS(
      GraphStep(ctx, counts, 1),
      doctest::Contains("a step can be captured only on a CUDA device, not on cpu"),
      DeviceError);
}

TEST_CASE("gradients are available only where they match their name") {
  const auto ask = [](Event event, const std::function<void(Learner&)>& action) {
    Training t;
    t.learn.add<Once>(event, true, action);
    t.learn.fit(1, 0.1);
  };
  const auto scaled = [](Learner& l) { (void)l.scaled_grads(); };
  const auto unscaled = [](Learner& l) { (void)l.grads(); };
  ask(Event::backward_end, scaled);
  ask(Event::step_begin, unscaled);
  for (const Event event : {Event::batch_begin, Event::backward_begin, Event::step_end}) {
    CAPTURE(name_of(event));
    CHECK_THROWS_WITH_AS(ask(event, scaled), doctest::Contains("'once'"), std::logic_error);
    CHECK_THROWS_WITH_AS(ask(event, unscaled), doctest::Contains("'once'"), std::logic_error);
  }
  CHECK_THROWS_AS(ask(Event::backward_end, unscaled), std::logic_error);
  CHECK_THROWS_AS(ask(Event::step_begin, scaled), std::logic_error);
}

TEST_CASE("asking for the wrong gradients names both callbacks") {
  class Seeder final : public Callback {
   public:
    explicit Seeder(bool unscales) : unscales_(unscales) {}
    [[nodiscard]] std::string_view name() const override { return "seeder"; }
    [[nodiscard]] int order() const override { return -1; }
    void backward_begin(Learner& l) override {
      l.set_seed(full(l.context().step(), {1}, DType::f32, 8));
    }
    void backward_end(Learner& l) override {
      if (unscales_) l.grads_unscaled();
    }

   private:
    bool unscales_;
  };
  const auto fit = [](bool unscales, Event event, const std::function<void(Learner&)>& action) {
    Training t;
    t.learn.add<Seeder>(unscales);
    t.learn.add<Once>(event, true, action);
    t.learn.fit(1, 0.1);
  };
  const auto scaled = [](Learner& l) { (void)l.scaled_grads(); };
  const auto unscaled = [](Learner& l) { (void)l.grads(); };
  const auto both = [](const std::string& asking) {
    return doctest::Contains(doctest::String((asking).c_str()));
  };
  CHECK_THROWS_WITH_AS(
      fit(true, Event::backward_end, scaled),
      both("'once' at backward_end: asked for scaled gradients, but 'seeder' has already"),
      std::logic_error);
  CHECK_THROWS_WITH_AS(fit(false, Event::step_begin, unscaled),
                       both("'once' at step_begin: asked for unscaled gradients, but 'seeder' has"),
                       std::logic_error);
  CHECK_THROWS_WITH_AS(fit(true, Event::backward_end, unscaled),
                       both("('seeder' scales the backward pass)"),
                       std::logic_error);
  CHECK_THROWS_WITH_AS(
      fit(false, Event::backward_end, scaled),
      both("'seeder' set a gradient seed but did not unscale: the optimizer would step"),
      std::logic_error);
  fit(true, Event::step_begin, unscaled);
}

TEST_CASE("a step with gradients that a seed still scales names the callback that set it") {
  class Seeder final : public Callback {
   public:
    Seeder(std::string name, int order, std::int64_t sets_until, std::int64_t unscales_from)
        : name_(std::move(name)), order_(order), until_(sets_until), from_(unscales_from) {}
    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] int order() const override { return order_; }
    void backward_begin(Learner& l) override {
      if (l.progress().batch_clock < until_)
        l.set_seed(full(l.context().step(), {1}, DType::f32, 8));
    }
    void backward_end(Learner& l) override {
      if (l.progress().batch_clock >= from_) l.grads_unscaled();
    }

   private:
    std::string name_;
    int order_;
    std::int64_t until_, from_;
  };
  static constexpr std::int64_t kNever = 100;
  const auto fit = [](const std::function<void(Learner&)>& prepare) {
    Training t({2, 2}, {2});
    prepare(t.learn);
    t.learn.fit(1, 0.1);
  };
  const auto named = [](const std::string& name) {
    return "'" + name +
           "' set a gradient seed but did not unscale: the optimizer would step with scaled "
           "gradients. Unscale them at backward_end and call grads_unscaled() there";
  };
  const auto refused = [&](const std::string& name, const std::function<void(Learner&)>& prepare) {
    CHECK_THROWS_WITH_AS(fit(prepare), doctest::Contains(named(name).c_str()), std::logic_error);
  };
  refused("never", [](Learner& l) { l.add<Seeder>("never", 0, kNever, kNever); });
  // Another callback unscales, but by its own seed.
  refused("first", [](Learner& l) {
    l.add<Seeder>("first", -1, kNever, kNever);
    l.add<Seeder>("second", 0, kNever, 0);
  });
  refused("last", [](Learner& l) {
    l.add<Seeder>("first", -1, kNever, 0);
    l.add<Seeder>("last", 0, kNever, kNever);
  });
  // In the batch before, whose gradients are held.
  refused("early", [](Learner& l) {
    l.add<Seeder>("early", 0, 1, kNever);
    l.add<Once>(Event::backward_begin, true, [](Learner& held) { held.defer_step(); });
  });
  fit([](Learner& l) { l.add<Seeder>("unscales", 0, kNever, 0); });
  // Nothing steps with the scaled ones.
  fit([](Learner& l) {
    l.add<Seeder>("early", 0, 1, kNever);
    l.add<Once>(Event::backward_end, true, [](Learner& skipped) { skipped.skip_step(); });
  });
}

TEST_CASE("losses are means over samples, of the batches that were not cancelled") {
  Training t({4, 1}, {3, 1});
  // Learning rate 0: every loss is that of the initial weights, computed here independently.
  const auto mean_loss = [](Data& data, std::size_t batches) {
    double sum = 0;
    std::int64_t samples = 0;
    Batch batch;
    data.begin(0);
    for (std::size_t b = 0; b < batches && data.next(batch); ++b) {
      for (std::int64_t i = 0; i < batch.x.elements(); ++i)
        sum += 0.5 * std::pow(0.5 * get(batch.x, i) - get(batch.y, i), 2);
      samples += batch.size();
    }
    return sum / static_cast<double>(samples);
  };
  t.learn.fit(1, 0);
  // Sums of f32 values in another order: a few roundings of 2^-24.
  CHECK(t.learn.results().train_loss == doctest::Approx(mean_loss(t.train, 2)).epsilon(1e-6));
  CHECK(t.learn.results().valid_loss == doctest::Approx(mean_loss(t.valid, 2)).epsilon(1e-6));

  // A batch that is cancelled does not count: here it is the only one.
  t.learn.add<Once>(Event::backward_begin, true, [](Learner& l) { l.cancel(Scope::epoch); });
  t.learn.fit(1, 0);
  CHECK(std::isnan(t.learn.results().train_loss));
}

TEST_CASE("metrics are means over samples") {
  LearnerOptions options;
  options.metrics = {{"sum_of_x", [](Context&, const Tensor& pred, const Tensor&) {
                        return static_cast<double>(pred.shape()[0] * pred.shape()[0]);
                      }}};
  Training t({2}, {3, 1}, std::move(options));
  t.learn.validate();
  REQUIRE(t.learn.results().metrics.size() == 1);
  CHECK(t.learn.results().metrics[0].first == "sum_of_x");
  CHECK(t.learn.results().metrics[0].second == (9.0 + 1.0) / 4);
  t.learn.add<Once>(Event::validate_begin, false, [](Learner& l) { l.cancel(Scope::validate); });
  t.learn.validate();
  CHECK(std::isnan(t.learn.results().metrics[0].second));
  CHECK(std::isnan(t.learn.results().valid_loss));
}

TEST_CASE("get_preds returns the outputs of the model, in order") {
  Training t({2}, {3, 1});
  const Predictions out = t.learn.get_preds(t.valid);
  CHECK(out.preds.shape() == Shape{4, kFeatures});
  CHECK(out.targets.shape() == Shape{4, kFeatures});
  t.learn.validate();
  CHECK(out.loss == t.learn.results().valid_loss);
  Batch batch;
  t.valid.begin(0);
  std::int64_t row = 0;
  while (t.valid.next(batch)) {
    for (std::int64_t i = 0; i < batch.x.elements(); ++i) {
      CHECK(get(out.preds, row * kFeatures + i) == static_cast<float>(0.5 * get(batch.x, i)));
      CHECK(get(out.targets, row * kFeatures + i) == get(batch.y, i));
    }
    row += batch.size();
  }
}

TEST_CASE("predict gives probabilities and needs samples of the model's shape") {
  Training t;
  const Tensor x = from_values(t.ctx.persistent(), {2, 3}, std::vector<double>{2, 2, 2, 0, 2, 4});
  const Tensor p = t.learn.predict(x);
  CHECK(p.shape() == Shape{2, 3});
  const double sum = 1 + std::exp(1.0) + std::exp(2.0);  // logits are x / 2
  // Rounded to f32 once.
  for (int i = 0; i < 3; ++i) {
    CHECK(get(p, i) == doctest::Approx(1.0 / 3).epsilon(1e-6));
    CHECK(get(p, 3 + i) == doctest::Approx(std::exp(i) / sum).epsilon(1e-6));
  }
  const Tensor large = from_values(t.ctx.persistent(), {1, 3}, std::vector<double>{1e5, 0, -1e5});
  const Tensor sure = t.learn.predict(large);  // beyond exp's range
  CHECK(values(sure) == std::vector<double>{1, 0, 0});
  CHECK_THROWS_AS((void)t.learn.predict(full(t.ctx.persistent(), {2, 4}, DType::f32, 0)),
                  ShapeError);
}

TEST_CASE("evaluation changes neither weights nor statistics") {
  Training t;
  t.learn.fit(1, 0.1);
  const Snapshot before(t.learn);
  t.learn.validate();
  (void)t.learn.get_preds(t.train);
  CHECK(Snapshot(t.learn) == before);
}

TEST_CASE("a skipped step or a cancelled batch leaves no trace") {
  struct Way {
    Event event;
    std::function<void(Learner&)> action;
  };
  const std::vector<Way> ways{
      {Event::backward_begin, [](Learner& l) { l.skip_step(); }},
      {Event::backward_end, [](Learner& l) { l.skip_step(); }},
      {Event::step_begin, [](Learner& l) { l.skip_step(); }},
      {Event::loss_begin, [](Learner& l) { l.cancel(Scope::batch); }},
      {Event::backward_end, [](Learner& l) { l.cancel(Scope::batch); }},
      {Event::step_begin, [](Learner& l) { l.cancel(Scope::epoch); }},
      {Event::backward_end, [](Learner& l) { l.cancel(Scope::train); }},
  };
  for (const Way& way : ways) {
    CAPTURE(name_of(way.event));
    Training t({2}, {});
    t.learn.fit(2, 0.1);
    const Snapshot before(t.learn);
    auto& once = t.learn.add<Once>(way.event, true, way.action);
    t.learn.fit(1, 0.1);
    CHECK(once.done);
    CHECK(Snapshot(t.learn) == before);
    CHECK(t.learn.progress().batch_clock == 3);
    CHECK(t.learn.progress().step_clock == 2);
    t.learn.fit(1, 0.1);
    CHECK_FALSE(Snapshot(t.learn) == before);
    CHECK(t.learn.progress().step_clock == 3);
  }
}

TEST_CASE("a step with found_inf leaves no trace") {
  class Overflow final : public Callback {
   public:
    [[nodiscard]] std::string_view name() const override { return "overflow"; }
    void step_begin(Learner& l) override {
      const Tensor bad = full(l.context().step(), {1}, DType::f32, INFINITY);
      kernels::find_non_finite(l.context(), bad, l.optimizer().control());
    }
  };
  Training t({2}, {});
  t.learn.fit(2, 0.1);
  const Snapshot before(t.learn);
  const auto& overflow = t.learn.add<Overflow>();
  t.learn.fit(1, 0.1);
  CHECK(Snapshot(t.learn) == before);
  CHECK(t.learn.progress().batch_clock == 3);
  CHECK(t.learn.progress().step_clock == 2);
  t.learn.remove(overflow);
  t.learn.fit(1, 0.1);
  CHECK_FALSE(Snapshot(t.learn) == before);
}

TEST_CASE("deferred batches make the update of one, and are dropped when the pass ends") {
  class Defer final : public Callback {
   public:
    explicit Defer(std::int64_t window) : window_(window) {}
    [[nodiscard]] std::string_view name() const override { return "defer"; }
    void backward_begin(Learner& l) override {
      held.push_back(l.progress().gradients_held);
      if (l.progress().batch_in_pass % window_ != window_ - 1) l.defer_step();
    }
    void step_begin(Learner& l) override {
      stepped.push_back(l.progress().batch_in_pass);
      grads = values(l.grads().flat_grad());
    }
    std::vector<bool> held;
    std::vector<std::int64_t> stepped;
    std::vector<double> grads;

   private:
    std::int64_t window_;
  };
  Training two({2, 2, 2}, {});
  auto& defer = two.learn.add<Defer>(2);
  two.learn.fit(1, 0);
  CHECK(defer.stepped == std::vector<std::int64_t>{1});
  CHECK(defer.held == std::vector<bool>{false, true, false});
  CHECK(two.learn.progress().step_clock == 1);

  Training one({4, 2}, {});
  auto& plain = one.learn.add<Defer>(1);
  std::vector<double> first;
  one.learn.add<Once>(Event::step_end, true, [&](Learner&) { first = plain.grads; });
  one.learn.fit(1, 0);
  REQUIRE(first.size() == defer.grads.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    CHECK(defer.grads[i] == doctest::Approx(first[i]).epsilon(1e-6));  // f32 roundings
  two.learn.fit(1, 0);
  CHECK_FALSE(defer.held[3]);  // nothing was left over from the pass before
}

TEST_CASE("the data source gets the number of the epoch, over several fits") {
  Training t({2}, {});
  t.learn.fit(2, 0.1);
  t.learn.fit(1, 0.1);
  CHECK(t.train.epochs_begun == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("random operations get the number of the batch, over epochs and fits") {
  Training t({1, 1}, {1});
  std::vector<double> numbers;
  class Numbers final : public Callback {
   public:
    explicit Numbers(std::vector<double>& seen) : seen_(seen) {}
    [[nodiscard]] std::string_view name() const override { return "numbers"; }
    void loss_begin(Learner& l) override {
      if (l.progress().training) seen_.push_back(get(l.batch().pred.tape().batch_index(), 0));
    }

   private:
    std::vector<double>& seen_;
  };
  t.learn.add<Numbers>(numbers);
  t.learn.fit(2, 0.1);
  t.learn.fit(1, 0.1);
  CHECK(numbers == std::vector<double>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("two short fits equal one long one") {
  Training twice;
  twice.learn.fit(1, 0.1);
  twice.learn.fit(1, 0.1);
  Training once;
  once.learn.fit(2, 0.1);
  CHECK(Snapshot(twice.learn) == Snapshot(once.learn));
}
