#include "framework/metrics/metric.h"

#include "framework/evaluation/confusion_matrix.h"
#include "framework/runtime/captured_work.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

using namespace learn;

namespace {

Tensor classes(Context& ctx, const std::vector<double>& values) {
  return test::put_values(ctx, {static_cast<std::int64_t>(values.size())}, values, DType::i64);
}

/// One metric over the batches of a pass.
double value_of(Context& ctx,
                const Metric& metric,
                const std::vector<std::pair<Tensor, Tensor>>& batches) {
  const std::vector<Metric> metrics{metric};
  MetricPasses passes(ctx, metrics);
  for (const auto& [pred, target] : batches) passes.add(pred, target);
  return passes.values().at(0).second;
}

/// The sum of one metric over one batch.
double sum_of(Context& ctx, const Metric& metric, const Tensor& pred, const Tensor& target) {
  return std::round(value_of(ctx, metric, {{pred, target}}) * static_cast<double>(pred.shape()[0]));
}

std::vector<double> numbers(const MetricPasses& passes) {
  std::vector<double> out;
  for (const auto& [name, value] : passes.values()) out.push_back(value);
  return out;
}

}  // namespace

TEST_CASE("metrics count hits") {
  Context ctx(test::fast_context(1));
  const Tensor pred = test::put_values(ctx, {3, 3}, {1, 3, 2, 2, 2, 1, NAN, 5, 4});
  const Tensor wanted = classes(ctx, {2, 0, 0});
  CHECK(sum_of(ctx, metrics::accuracy(), pred, wanted) == 1);    // a tie goes to the first
  CHECK(sum_of(ctx, metrics::error_rate(), pred, wanted) == 2);  // NaN is never right
  CHECK(sum_of(ctx, metrics::top_k(2), pred, wanted) == 2);
  CHECK(sum_of(ctx, metrics::top_k(3), pred, wanted) == 2);
  // NaN of another class ranks before the true class.
  CHECK(sum_of(ctx, metrics::top_k(1), pred, classes(ctx, {1, 1, 1})) == 1);
  CHECK(sum_of(ctx, metrics::top_k(2), pred, classes(ctx, {1, 1, 1})) == 3);
  const Tensor soft = test::put_values(ctx, {3, 3}, {0.2, 0.7, 0.1, 1, 0, 0, 0, 0, 1});
  CHECK(sum_of(ctx, metrics::accuracy(), pred, soft) == 2);
  CHECK(sum_of(ctx, metrics::error_rate(), pred, soft) == 1);
  CHECK_THROWS_AS((void)metrics::top_k(0), UsageError);
}

TEST_CASE("targets that do not fit are errors") {
  Context ctx(test::fast_context(1));
  const Tensor pred = test::put_values(ctx, {2, 3}, {1, 3, 2, 2, 2, 1});
  const auto accuracy = [&](const Tensor& target) {
    return sum_of(ctx, metrics::accuracy(), pred, target);
  };
  CHECK_THROWS_WITH_AS(
      (void)accuracy(classes(ctx, {1, 3})), doctest::Contains("row 1 has class 3"), DataError);
  CHECK_THROWS_WITH_AS(
      (void)accuracy(classes(ctx, {-1, 0})), doctest::Contains("row 0 has class -1"), DataError);
  CHECK(accuracy(classes(ctx, {1, 0})) == 2);  // the fault is forgotten
  CHECK_THROWS_AS((void)accuracy(classes(ctx, {1, 0, 0})), ShapeError);
  CHECK_THROWS_AS((void)accuracy(test::put_full(ctx, {2, 2}, DType::f32, 1)), ShapeError);
  CHECK_THROWS_AS((void)accuracy(test::put_full(ctx, {2, 3}, DType::f16, 1)), DTypeError);
  CHECK_THROWS_WITH_AS((void)accuracy({}), doctest::Contains("no targets"), DataError);
}

TEST_CASE("sums of a pass: several metrics, counted on the device or computed by a function") {
  Context ctx(test::fast_context(2));
  const Metric rows{"rows", [](Context&, const Tensor& pred, const Tensor&) {
                      return 0.5 * static_cast<double>(pred.shape()[0]);
                    }};
  const std::vector<Metric> metrics{
      metrics::accuracy(), rows, metrics::error_rate(), metrics::top_k(2)};
  MetricPasses passes(ctx, metrics);
  passes.add(test::put_values(ctx, {2, 3}, {1, 3, 2, 2, 0, 1}), classes(ctx, {1, 2}));
  passes.add(test::put_values(ctx, {1, 3}, {5, 3, 4}), classes(ctx, {0}));
  CHECK(numbers(passes) == std::vector<double>{2.0 / 3, 0.5, 1.0 / 3, 1.0});
  CHECK(numbers(passes).at(0) == 2.0 / 3);  // asking changes nothing
  CHECK(passes.values().at(3).first == "top_2");
  for (const double value : numbers(MetricPasses(ctx, metrics))) CHECK(std::isnan(value));
}

TEST_CASE("metrics that count wait for nothing on a device") {
  if (!test::testing_cuda()) return;
  Context ctx(test::fast_context(1));
  const Tensor pred = test::put_values(ctx, {2, 3}, {1, 3, 2, 2, 0, 1});
  const Tensor wanted = classes(ctx, {1, 2});
  const std::vector<Metric> metrics{metrics::accuracy(), metrics::error_rate(), metrics::top_k(2)};
  MetricPasses passes(ctx, metrics);
  // Recording throws if an operation waits or reserves memory.
  const CapturedWork work(ctx, [&] { passes.add(pred, wanted); });
  work.launch();
  work.launch();
  // One batch was added on the host: the means are those of four rows over its two.
  CHECK(numbers(passes) == std::vector<double>{1, 1, 2});
}

TEST_CASE("metrics that keep rows wait for nothing on a device while there is room") {
  if (!test::testing_cuda()) return;
  // Its arena keeps its slabs: with room in them nothing is reserved.
  Context ctx({.device = Device::cuda()});
  const Tensor pred = test::put_values(ctx, {2, 3}, {1, 3, 2, 2, 0, 1});
  const Tensor wanted = classes(ctx, {1, 2});
  const Tensor soft = test::put_values(ctx, {2, 3}, {0.2, 0.7, 0.1, 0, 0, 1});
  const std::vector<Metric> metrics{
      metrics::f1(), metrics::kappa(), metrics::auc(), metrics::ece()};
  MetricPasses passes(ctx, metrics);
  for (int batch = 0; batch < 3; ++batch) passes.add(pred, batch == 2 ? soft : wanted);
  // Room for a fourth: recording throws if an operation waits or reserves memory.
  const CapturedWork work(ctx, [&] { passes.add(pred, soft); });
  work.launch();
  Context cpu({.threads = 1});
  MetricPasses expected(cpu, metrics);
  for (int batch = 0; batch < 4; ++batch)
    expected.add(host_tensor<float>({2, 3}, std::vector<float>{1, 3, 2, 2, 0, 1}),
                 host_tensor<std::int64_t>({2}, std::vector<std::int64_t>{1, 2}));
  CHECK(numbers(passes) == numbers(expected));
}

TEST_CASE("metrics of labels and of values wait for nothing on a device while there is room") {
  if (!test::testing_cuda()) return;
  Context ctx({.device = Device::cuda()});
  const std::vector<double> outputs{1, -3, 2, 2, 0.5, 1}, targets{1, 0, 1, 0, 0, 1};
  const Tensor pred = test::put_values(ctx, {2, 3}, outputs);
  const Tensor wanted = test::put_values(ctx, {2, 3}, targets);
  const std::vector<Metric> metrics{
      metrics::f1_multi(), metrics::average_precision(), metrics::mae(), metrics::r2()};
  MetricPasses passes(ctx, metrics);
  for (int batch = 0; batch < 3; ++batch) passes.add(pred, wanted);
  const CapturedWork work(ctx, [&] { passes.add(pred, wanted); });
  work.launch();
  Context cpu({.threads = 1});
  MetricPasses expected(cpu, metrics);
  for (int batch = 0; batch < 4; ++batch)
    expected.add(test::put_values(cpu, {2, 3}, outputs), test::put_values(cpu, {2, 3}, targets));
  CHECK(numbers(passes) == numbers(expected));
}

namespace {

/// A metric of a user: of the samples of class 1, the share that was found.
struct Found {
  double right = 0;
  double all = 0;
  void add(Context& ctx, const Tensor& pred, const Tensor& target) {
    const Tensor outputs = to_host(ctx, pred);
    const Tensor wanted = to_host(ctx, target);
    for (std::size_t i = 0; i < wanted.span<std::int64_t>().size(); ++i) {
      if (wanted.span<std::int64_t>()[i] != 1) continue;
      all += 1;
      right += predicted_class(outputs.span<float>().subspan(3 * i, 3)) == 1 ? 1 : 0;
    }
  }
  [[nodiscard]] double value() const { return right / all; }
};

}  // namespace

TEST_CASE("a metric with state is exact over batches of unequal size") {
  Context ctx(test::fast_context(1));
  const std::vector<std::pair<Tensor, Tensor>> batches{
      {test::put_values(ctx, {4, 3}, {0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0}),
       classes(ctx, {1, 1, 1, 1})},
      {test::put_values(ctx, {1, 3}, {1, 0, 0}), classes(ctx, {1})},
      {test::put_values(ctx, {2, 3}, {1, 0, 0, 0, 1, 0}), classes(ctx, {0, 2})}};
  const Metric found{"found", Found{}};
  CHECK(value_of(ctx, found, batches) == 3.0 / 5);
  CHECK(value_of(ctx, found, batches) == 3.0 / 5);  // each pass starts again
  CHECK(value_of(ctx, metrics::recall(1), batches) == 3.0 / 5);
}

TEST_CASE("recall, precision and F1 are scikit-learn's") {
  // recall_score, precision_score, f1_score of scikit-learn 1.9.1, zero_division=0, for
  // y_true = [0, 0, 0, 1, 1, 2, 2, 2, 2], y_pred = [0, 1, 0, 1, 1, 2, 2, 2, 0]; a fourth class is
  // in neither.
  Context ctx(test::fast_context(1));
  const std::vector<int> guesses{0, 1, 0, 1, 1, 2, 2, 2, 0};
  std::vector<double> outputs(guesses.size() * 4, -1.0);
  for (std::size_t i = 0; i < guesses.size(); ++i)
    outputs[4 * i + static_cast<std::size_t>(guesses[i])] = 1;
  const std::vector<std::pair<Tensor, Tensor>> batches{
      {test::put_values(ctx, {9, 4}, outputs), classes(ctx, {0, 0, 0, 1, 1, 2, 2, 2, 2})}};
  const auto check = [&](const Metric& metric, const char* name, double value) {
    CHECK(metric.name == name);
    CHECK(value_of(ctx, metric, batches) == doctest::Approx(value).epsilon(1e-15));
  };
  check(metrics::recall(0), "recall_0", 2.0 / 3);
  check(metrics::recall(1), "recall_1", 1);
  check(metrics::recall(2), "recall_2", 3.0 / 4);
  check(metrics::recall(3), "recall_3", 0);
  check(metrics::precision(0), "precision_0", 2.0 / 3);
  check(metrics::precision(1), "precision_1", 2.0 / 3);
  check(metrics::precision(2), "precision_2", 1);
  check(metrics::precision(3), "precision_3", 0);
  check(metrics::f1(0), "f1_0", 2.0 / 3);
  check(metrics::f1(1), "f1_1", 4.0 / 5);
  check(metrics::f1(2), "f1_2", 6.0 / 7);
  check(metrics::f1(3), "f1_3", 0);
  check(metrics::recall(), "recall", (2.0 / 3 + 1 + 3.0 / 4) / 3);
  check(metrics::precision(), "precision", (2.0 / 3 + 2.0 / 3 + 1) / 3);
  check(metrics::f1(), "f1", (2.0 / 3 + 4.0 / 5 + 6.0 / 7) / 3);
  for (const Metric& metric : {metrics::recall(), metrics::f1(2)})
    CHECK(std::isnan(value_of(ctx, metric, {})));
}

TEST_CASE("a confusion matrix counts NaN as no class, and soft targets by their largest") {
  ConfusionMatrix matrix;
  CHECK(matrix.classes() == 0);
  Context ctx({.threads = 1});
  const auto tensor = [](const Shape& shape, const std::vector<float>& values) {
    return host_tensor<float>(shape, values);
  };
  matrix.add(tensor({3, 2}, {NAN, 1, 1, 1, 0, 2}), tensor({3, 2}, {1, 0, 0.9F, 0.1F, 0.4F, 0.6F}));
  CHECK(matrix.classes() == 2);
  CHECK(matrix.samples() == 3);
  CHECK(matrix.seen(0) == 2);
  CHECK(matrix.predicted(0) == 1);  // of equal ones the first
  CHECK(matrix.count(0, 0) == 1);
  CHECK(matrix.count(1, 1) == 1);
  CHECK(matrix.count(0, 1) == 0);
  CHECK(matrix.recall(0) == 0.5);
  CHECK(matrix.precision(0) == 1);
  const Tensor wrong = host_tensor<std::int64_t>({1}, std::vector<std::int64_t>{2});
  CHECK_THROWS_WITH_AS(matrix.add(tensor({1, 2}, {0, 1}), wrong),
                       doctest::Contains("row 0 has class 2, but there are 2"),
                       DataError);
  CHECK_THROWS_AS(matrix.add(tensor({1, 3}, {0, 1, 2}), wrong), ShapeError);
  CHECK_THROWS_WITH_AS(
      matrix.add(tensor({2}, {0, 1}), wrong), doctest::Contains("predictions are (2)"), ShapeError);
  CHECK_THROWS_AS(matrix.add(tensor({2, 2}, {0, 1, 2, 3}), wrong), ShapeError);
  CHECK_THROWS_WITH_AS((void)matrix.count(0, 2),
                       doctest::Contains("confusion matrix: classes 0 and 2 of 2"),
                       UsageError);
  CHECK(matrix.samples() == 3);
}

TEST_CASE("a metric that needs more classes than there are is refused") {
  Context ctx(test::fast_context(1));
  const std::vector<std::pair<Tensor, Tensor>> batches{
      {test::put_values(ctx, {1, 3}, {1, 3, 2}), classes(ctx, {1})}};
  CHECK(value_of(ctx, metrics::top_k(3), batches) == 1);
  CHECK_THROWS_WITH_AS((void)value_of(ctx, metrics::top_k(5), batches),
                       "metric 'top_5' needs at least 5 classes, but there are 3",
                       UsageError);
  CHECK_THROWS_WITH_AS((void)value_of(ctx, metrics::recall(3), batches),
                       "metric 'recall_3' needs at least 4 classes, but there are 3",
                       UsageError);
  CHECK_THROWS_AS((void)metrics::f1(-1), UsageError);
  CHECK_THROWS_WITH_AS(
      (void)value_of(ctx, metrics::recall(0), {{test::put_values(ctx, {1, 3}, {1, 3, 2}), {}}}),
      doctest::Contains("a metric of classes: the batch has no targets"),
      DataError);
}
