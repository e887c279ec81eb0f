#include "framework/metrics/metric_registry.h"

#include "framework/core/error.h"
#include "framework/evaluation/confusion_matrix.h"
#include "framework/learner/history/monitor.h"
#include "framework/learner/history/recorder.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"
#include "framework/tensor/host_tensor.h"
#include "tests/golden/evaluation_values.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

using namespace tiny;

namespace {

const std::vector<std::string> kAll{"accuracy",
                                    "error_rate",
                                    "precision",
                                    "recall",
                                    "f1",
                                    "precision:class=1",
                                    "recall:class=1",
                                    "f1:class=1",
                                    "kappa",
                                    "mcc",
                                    "auc",
                                    "ece",
                                    "ece:bins=7"};

using Named = std::vector<std::pair<std::string, double>>;

/// Value for outputs with equally many targets, in batches of `size` rows.
Named measured(const std::vector<std::string>& specs,
               std::span<const float> outputs,
               std::span<const float> targets,
               std::int64_t columns,
               std::int64_t size) {
  Context ctx({.threads = 1});
  const std::vector<Metric> metrics = make_metrics(specs);
  MetricPasses passes(ctx, metrics);
  const std::int64_t samples = std::ssize(outputs) / columns;
  for (std::int64_t begin = 0; begin < samples; begin += size) {
    const std::int64_t rows = std::min(size, samples - begin);
    const auto part = [&](std::span<const float> all) {
      return to_device(ctx,
                       ctx.step(),
                       borrowed({rows, columns},
                                all.subspan(static_cast<std::size_t>(begin * columns),
                                            static_cast<std::size_t>(rows * columns))));
    };
    passes.add(part(outputs), part(targets));
  }
  return passes.values();
}

/// The metrics over samples, in batches of `size`.
Named measured(const std::vector<Metric>& metrics, const golden::Evaluation& e, std::int64_t size) {
  Context ctx({.threads = 1});
  MetricPasses passes(ctx, metrics);
  const auto samples = static_cast<std::int64_t>(e.truths.size());
  for (std::int64_t begin = 0; begin < samples; begin += size) {
    const std::int64_t rows = std::min(size, samples - begin);
    const auto logits = std::span(e.logits).subspan(static_cast<std::size_t>(begin * e.classes),
                                                    static_cast<std::size_t>(rows * e.classes));
    const auto truths = std::span(e.truths).subspan(static_cast<std::size_t>(begin),
                                                    static_cast<std::size_t>(rows));
    passes.add(to_device(ctx, ctx.step(), borrowed({rows, e.classes}, logits)),
               to_device(ctx, ctx.step(), borrowed({rows}, truths)));
  }
  return passes.values();
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Keeps the learner's state at the end of one batch.
class KeepState final : public Callback {
 public:
  KeepState(std::int64_t batch, std::optional<test::MemoryState>& kept)
      : batch_(batch), kept_(kept) {}
  [[nodiscard]] std::string_view name() const override { return "keep_state"; }
  [[nodiscard]] int order() const override { return order::kRecorder + 50; }
  void batch_end(Learner& l) override {
    if (l.progress().training && l.progress().batch_clock == batch_)
      kept_ = test::save(l.context(), l);
  }

 private:
  std::int64_t batch_;
  std::optional<test::MemoryState>& kept_;
};

/// A metric whose pass cannot be saved.
struct Rows {
  double rows = 0;
  void add(Context&, const Tensor& pred, const Tensor&) {
    rows += static_cast<double>(pred.shape()[0]);
  }
  [[nodiscard]] double value() const { return rows; }
};

LearnerOptions with_all() {
  LearnerOptions options{.metrics = make_metrics(kAll), .train_metrics = true};
  options.metrics.push_back({"logits", [](Context&, const Tensor& pred, const Tensor&) {
                               double sum = 0;
                               for (const float v : pred.span<float>()) sum += double{v};
                               return sum;
                             }});
  return options;
}

}  // namespace

TEST_CASE("metrics by name have scikit-learn's values for any batch size") {
  for (const golden::Evaluation& e : golden::kEvaluations) {
    CAPTURE(e.name);
    std::vector<std::string> specs = kAll;
    if (e.classes > 3) specs.emplace_back("top_k:k=3");
    const std::vector<Metric> metrics = make_metrics(specs);
    const auto samples = static_cast<std::int64_t>(e.truths.size());
    const Named whole = measured(metrics, e, samples);
    std::vector<double> wanted{e.accuracy,
                               1 - e.accuracy,
                               e.macro[0],
                               e.macro[1],
                               e.macro[2],
                               e.each[1][0],
                               e.each[1][1],
                               e.each[1][2],
                               e.kappa,
                               e.mcc,
                               e.auc,
                               e.ece,
                               e.ece_7,
                               e.top_3};
    for (std::size_t i = 0; i < whole.size(); ++i) {
      CAPTURE(whole[i].first);
      if (std::isnan(wanted[i]))
        CHECK(std::isnan(whole[i].second));
      else
        CHECK(whole[i].second ==
              doctest::Approx(wanted[i]).epsilon(1e-13));  // other orders of sums
    }
    for (const std::int64_t size : {std::int64_t{1}, std::int64_t{2}, samples / 2 + 1}) {
      const Named parts = measured(metrics, e, size);
      for (std::size_t i = 0; i < whole.size(); ++i) {
        CAPTURE(whole[i].first);
        CHECK(same(parts[i].second, whole[i].second));
      }
    }
  }
}

TEST_CASE("metrics of labels and of values have scikit-learn's values for any batch size") {
  const auto check_all = [](const Named& seen, const std::vector<double>& wanted) {
    REQUIRE(seen.size() == wanted.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      CAPTURE(seen[i].first);
      if (std::isnan(wanted[i]))
        CHECK(std::isnan(seen[i].second));
      else
        CHECK(seen[i].second == doctest::Approx(wanted[i]).epsilon(1e-13));  // orders of sums
    }
  };
  for (const golden::Labels& e : golden::kLabels) {
    CAPTURE(e.name);
    std::vector<std::string> specs;
    for (const char* const name : {"accuracy_multi", "precision_multi", "recall_multi", "f1_multi"})
      specs.push_back(fmt::format("{}:threshold={}", name, e.threshold));
    specs.emplace_back("average_precision");
    for (const std::int64_t size : {2, 100})
      check_all(measured(specs, e.logits, e.targets, e.labels, size),
                {e.accuracy, e.macro[0], e.macro[1], e.macro[2], e.macro[3]});
  }
  for (const golden::Values& e : golden::kValues) {
    CAPTURE(e.name);
    for (const std::int64_t size : {3, 100})
      check_all(measured({{"mae", "rmse", "r2"}}, e.predictions, e.targets, e.values, size),
                e.mean);
  }
}

TEST_CASE("a metric declares its targets, and the error lists the metrics for others") {
  const auto check_for = [](const std::vector<std::string>& specs, TargetKind kind) {
    check_targets(make_metrics(specs), kind, "'photos'");
  };
  check_for({"accuracy", "f1", "kappa", "auc", "ece", "top_k"}, TargetKind::classes);
  check_for({"accuracy_multi", "average_precision"}, TargetKind::labels);
  check_for({"mae", "rmse", "r2"}, TargetKind::values);
  const std::vector<Metric> own{{"rows", Rows{}}};
  check_targets(own, TargetKind::values, "'photos'");
  for (const char* const name : {"accuracy", "recall:class=0", "mcc", "auc", "ece:bins=3"})
    CHECK_THROWS_WITH_AS(check_for({"mae", name}, TargetKind::values),
                         doctest::Contains("is for classes; the targets of 'photos' are real "
                                           "numbers, for which there are mae, r2, rmse"),
                         UsageError);
  CHECK_THROWS_WITH_AS(check_for({"mae"}, TargetKind::labels),
                       "metric 'mae' is for real numbers; the targets of 'photos' are several "
                       "labels per sample, for which there are accuracy_multi, average_precision, "
                       "f1_multi, precision_multi, recall_multi",
                       UsageError);
}

TEST_CASE("metrics of labels and values refuse mismatched inputs") {
  Context ctx({.threads = 1});
  const std::vector<Metric> metrics = make_metrics(std::vector<std::string>{"mae", "f1_multi"});
  MetricPasses passes(ctx, metrics);
  for (const auto& metric : passes.values()) CHECK(std::isnan(metric.second));
  const Tensor pred = full(ctx.step(), {2, 3}, DType::f32, 0);
  CHECK_THROWS_WITH_AS(passes.add(pred, full(ctx.step(), {2}, DType::i64, 0)),
                       doctest::Contains("targets are (2) for predictions (2,3)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(passes.add(pred, {}), doctest::Contains("has no targets"), DataError);
  CHECK_THROWS_WITH_AS((void)metrics::f1_multi(1),
                       doctest::Contains("metric 'f1_multi': the threshold 1 is not in [0, 1)"),
                       UsageError);
}

TEST_CASE("an interrupted pass of labels or values continues with its values") {
  const golden::Labels& e = golden::kLabels.front();
  Context ctx({.threads = 1});
  const std::vector<Metric> metrics =
      make_metrics(std::vector<std::string>{"average_precision", "accuracy_multi"});
  constexpr std::int64_t kCut = 12;
  const std::int64_t samples = std::ssize(e.logits) / e.labels;
  const auto add = [&](MetricPasses& passes, std::int64_t begin, std::int64_t end) {
    const auto part = [&](std::span<const float> all) {
      return to_device(ctx,
                       ctx.step(),
                       borrowed({end - begin, e.labels},
                                all.subspan(static_cast<std::size_t>(begin * e.labels),
                                            static_cast<std::size_t>((end - begin) * e.labels))));
    };
    passes.add(part(e.logits), part(e.targets));
  };
  struct Saved {
    MetricPasses& passes;
    void visit_state(StateVisitor& visitor) const { passes.visit_state(kCut, visitor); }
  };
  MetricPasses first(ctx, metrics), second(ctx, metrics);
  add(first, 0, kCut);
  const Saved before{first}, after{second};
  const test::MemoryState state = test::save(ctx, before);
  test::load(ctx, state, after);
  add(second, kCut, samples);
  CHECK(second.values()[0].second == doctest::Approx(e.macro[3]).epsilon(1e-13));
  CHECK(second.values()[1].second == doctest::Approx(e.accuracy).epsilon(1e-13));
}

TEST_CASE("names of metrics include their options") {
  const auto name = [](const std::string& spec) {
    return make_metrics(std::vector<std::string>{spec}).at(0).name;
  };
  CHECK(name("top_k") == "top_5");
  CHECK(name("top_k:k=3") == "top_3");
  CHECK(name("recall") == "recall");
  CHECK(name("recall:class=3") == "recall_3");
  CHECK(name("ece:bins=15") == "ece");
  CHECK(name("ece:bins=20") == "ece_20");
  CHECK(name("f1_multi") == "f1_multi");
  CHECK(name("f1_multi:threshold=0.3") == "f1_multi_0.3");
}

TEST_CASE("unknown or repeated metrics are refused") {
  const auto make = [](const std::vector<std::string>& specs) { (void)make_metrics(specs); };
  CHECK_THROWS_WITH_AS(make({"acuracy"}), doctest::Contains("did you mean 'accuracy'"), UsageError);
  CHECK_THROWS_WITH_AS(
      make({"f1", "f1"}), doctest::Contains("metric 'f1' is given twice"), UsageError);
  CHECK_THROWS_AS(make({"top_k:k=0"}), UsageError);
  CHECK_THROWS_AS(make({"ece:bins=0"}), UsageError);
  CHECK_THROWS_AS(make({"f1:class=-1"}), UsageError);
  CHECK_THROWS_AS((void)metrics::ece(0), UsageError);
}

TEST_CASE("a NaN is never right and makes probabilities unknown") {
  golden::Evaluation e = golden::kEvaluations.front();
  const Named before = measured(make_metrics(kAll), e, 8);
  const auto truth = static_cast<std::size_t>(e.truths[3]);
  e.logits[static_cast<std::size_t>(e.classes) * 3 + truth] = std::nanf("");
  const Named after = measured(make_metrics(kAll), e, 8);
  for (std::size_t i = 0; i < after.size(); ++i) {
    CAPTURE(after[i].first);
    const bool of_probabilities =
        after[i].first == "auc" || after[i].first.find("ece") != std::string::npos;
    CHECK(std::isnan(after[i].second) == of_probabilities);
  }
  CHECK(after[0].second == doctest::Approx(before[0].second - 1.0 / 37).epsilon(1e-12));
  ConfusionMatrix matrix;  // which looks for NaN in the rows themselves
  const std::int64_t samples = std::ssize(e.truths);
  matrix.add(borrowed({samples, e.classes}, std::span<const float>(e.logits)),
             borrowed({samples}, std::span<const std::int64_t>(e.truths)));
  CHECK(after[3].second == matrix.mean(&ConfusionMatrix::recall));
  CHECK(after[8].second == matrix.kappa());
}

TEST_CASE("without samples every metric is NaN") {
  Context ctx({.threads = 1});
  const std::vector<Metric> metrics = make_metrics(kAll);
  for (const auto& metric : MetricPasses(ctx, metrics).values()) {
    CAPTURE(metric.first);
    CHECK(std::isnan(metric.second));
  }
}

TEST_CASE("metrics of classes refuse mismatched inputs") {
  Context ctx({.threads = 1});
  const auto add = [&](const Shape& pred, const Shape& target) {
    const std::vector<Metric> metrics = make_metrics(std::vector<std::string>{"kappa", "auc"});
    MetricPasses passes(ctx, metrics);
    passes.add(full(ctx.step(), {2, 3}, DType::f32, 0), full(ctx.step(), {2}, DType::i64, 0));
    passes.add(full(ctx.step(), pred, DType::f32, 0), full(ctx.step(), target, DType::i64, 0));
    (void)passes.values();
  };
  add({0, 3}, {0});
  CHECK_THROWS_WITH_AS(
      add({2, 3}, {3}), doctest::Contains("targets are (3) for predictions (2,3)"), ShapeError);
  CHECK_THROWS_WITH_AS(
      add({2, 4}, {2}), doctest::Contains("rows of 4 values after rows of 3"), ShapeError);
}

TEST_CASE("metrics of the training pass use its own outputs") {
  Training plain({3, 2}, {2});
  plain.learn.fit(2, 0.1);
  Training t({3, 2}, {2}, with_all());
  t.learn.add<Recorder>();
  t.learn.fit(2, 0.1);
  CHECK(values(plain.learn.params().flat_master()) == values(t.learn.params().flat_master()));
  const Named& train = t.learn.results().train_metrics;
  REQUIRE(train.size() == kAll.size() + 1);
  CHECK(train.front().first == "train_accuracy");
  CHECK(train.back().first == "train_logits");
  CHECK(t.learn.results().metrics.size() == train.size());
  CHECK(t.learn.metric_names().size() == 2 * train.size());
  const EpochRecord& epoch = recorder_of(t.learn, "the test").epochs().back();
  REQUIRE(epoch.metrics.size() == 2 * train.size());
  CHECK(epoch.metrics.front().first == "train_accuracy");
  CHECK(epoch.metrics[train.size()].first == "accuracy");
  t.learn.validate();
  CHECK(t.learn.results().train_metrics == train);  // validation alone leaves them
  CHECK(Monitor("train_f1").value(t.learn) == train[4].second);
}

TEST_CASE("the lower calibration error is the better one and train metrics can be monitored") {
  const auto lower = [](const char* name) {
    Monitor monitor(name);
    return monitor.improves(1) && monitor.improves(0.5);
  };
  for (const char* const name :
       {"ece", "ece_20", "train_ece", "train_error_rate", "valid_loss", "mae", "train_rmse"}) {
    CAPTURE(name);
    CHECK(lower(name));
  }
  for (const char* const name : {"auc", "train_f1", "precedence", "r2", "accuracy_multi"}) {
    CAPTURE(name);
    CHECK(!lower(name));
  }
  LearnerOptions options{.metrics = {metrics::f1()}, .train_metrics = true};
  Context ctx({.threads = 1});
  Data data({2});
  const Learner learn(ctx, Training::make_scale(), data, Training::with_loss(options));
  Monitor("train_f1").check_known(learn);
  CHECK_THROWS_WITH_AS(Monitor("f1").check_known(learn),
                       doctest::Contains("known values: train_loss, train_f1"),
                       UsageError);
}

TEST_CASE("metrics of the training pass are those of a changing model") {
  LearnerOptions options = with_all();
  std::vector<double> sums;
  options.metrics = {{"logits", [&](Context&, const Tensor& pred, const Tensor&) {
                        double sum = 0;
                        for (const float v : pred.span<float>()) sum += double{v};
                        sums.push_back(sum);
                        return sum;
                      }}};
  Training t({3, 2}, {}, options);
  std::vector<double> seen;
  class Outputs final : public Callback {
   public:
    explicit Outputs(std::vector<double>& seen) : seen_(seen) {}
    [[nodiscard]] std::string_view name() const override { return "outputs"; }
    void backward_begin(Learner& l) override {
      double sum = 0;
      for (const float v : l.batch().pred.value().span<float>()) sum += double{v};
      seen_.push_back(sum);
    }

   private:
    std::vector<double>& seen_;
  };
  t.learn.add<Outputs>(seen);
  t.learn.fit(1, 0.1);
  CHECK(sums == seen);
  CHECK(t.learn.results().train_metrics.at(0).second == (seen[0] + seen[1]) / 5);
}

TEST_CASE("a training that is resumed in an epoch ends with the same metrics of the pass") {
  for (const std::int64_t cut : {1, 2, 4, 5}) {
    CAPTURE(cut);
    std::optional<test::MemoryState> state;
    Training whole({3, 2, 1}, {2}, with_all());
    whole.learn.add<KeepState>(cut, state);
    whole.learn.fit(2, 0.1);
    REQUIRE(state);
    Training second({3, 2, 1}, {2}, with_all());
    second.learn.add<KeepState>(-1, state);
    test::load(second.ctx, *state, second.learn);
    second.learn.resume();
    second.learn.fit(2, 0.1);
    const Named& wanted = whole.learn.results().train_metrics;
    const Named& seen = second.learn.results().train_metrics;
    REQUIRE(seen.size() == wanted.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      CAPTURE(seen[i].first);
      CHECK(same(seen[i].second, wanted[i].second));
    }
  }
}

TEST_CASE("a metric whose pass cannot be saved is NaN in the epoch that is resumed") {
  LearnerOptions options{.metrics = {{"rows", Rows{}}}, .train_metrics = true};
  std::optional<test::MemoryState> state;
  Training whole({3, 2}, {}, options);
  whole.learn.add<KeepState>(1, state);
  whole.learn.fit(1, 0.1);
  CHECK(whole.learn.results().train_metrics.at(0).second == 5);
  Training second({3, 2}, {}, options);
  second.learn.add<KeepState>(-1, state);
  test::load(second.ctx, *state, second.learn);
  second.learn.resume();
  second.learn.fit(1, 0.1);
  CHECK(std::isnan(second.learn.results().train_metrics.at(0).second));
  second.learn.fit(1, 0.1);
  CHECK(second.learn.results().train_metrics.at(0).second == 5);
}
