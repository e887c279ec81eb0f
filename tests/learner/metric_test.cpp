#include "framework/learner/metric.h"

#include "framework/runtime/captured_work.h"
#include "tests/support/on_device.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace learn;

namespace {

Tensor classes(Context& ctx, const std::vector<double>& values) {
  return test::put_values(ctx, {static_cast<std::int64_t>(values.size())}, values, DType::i64);
}

/// The sum of one metric over one batch.
double sum_of(Context& ctx, const Metric& metric, const Tensor& pred, const Tensor& target) {
  const std::vector<Metric> metrics{metric};
  MetricSums sums(ctx, metrics);
  sums.add(pred, target);
  return sums.means(1).at(0);
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
  CHECK(sum_of(ctx, metrics::top_k(9), pred, wanted) == 2);
  // NaN of another class stands before the class that is wanted.
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
  MetricSums sums(ctx, metrics);
  sums.add(test::put_values(ctx, {2, 3}, {1, 3, 2, 2, 0, 1}), classes(ctx, {1, 2}));
  sums.add(test::put_values(ctx, {1, 3}, {5, 3, 4}), classes(ctx, {0}));
  CHECK(sums.means(3) == std::vector<double>{2.0 / 3, 0.5, 1.0 / 3, 1.0});
  CHECK(sums.means(3).at(0) == 2.0 / 3);  // asking changes nothing
  const MetricSums fresh(ctx, metrics);
  CHECK(fresh.means(4) == std::vector<double>(4, 0.0));
  CHECK(std::isnan(fresh.means(0).at(0)));
}

TEST_CASE("metrics that count wait for nothing on a device") {
  if (!test::testing_cuda()) return;
  Context ctx(test::fast_context(1));
  const Tensor pred = test::put_values(ctx, {2, 3}, {1, 3, 2, 2, 0, 1});
  const Tensor wanted = classes(ctx, {1, 2});
  const std::vector<Metric> metrics{metrics::accuracy(), metrics::error_rate(), metrics::top_k(2)};
  MetricSums sums(ctx, metrics);
  // Recording throws if an operation waits or reserves memory.
  const CapturedWork work(ctx, [&] { sums.add(pred, wanted); });
  work.launch();
  work.launch();
  CHECK(sums.means(4) == std::vector<double>{0.5, 0.5, 1});
}

TEST_CASE("a metric has one function") {
  Context ctx(test::fast_context(1));
  const std::vector<Metric> none{{"nothing"}};
  CHECK_THROWS_WITH_AS(MetricSums(ctx, none), doctest::Contains("metric 'nothing'"), UsageError);
  std::vector<Metric> both{metrics::accuracy()};
  both[0].sum = [](Context&, const Tensor&, const Tensor&) { return 0.0; };
  CHECK_THROWS_WITH_AS(MetricSums(ctx, both), doctest::Contains("sum or count"), UsageError);
}
