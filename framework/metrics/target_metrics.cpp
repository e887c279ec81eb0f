#include "framework/metrics/target_metrics.h"

#include "framework/core/error.h"
#include "framework/evaluation/label_report.h"
#include "framework/evaluation/value_report.h"
#include "framework/metrics/metric.h"

#include <fmt/core.h>

#include <limits>

namespace learn {

void OfTargets::add(Context& ctx, const Tensor& pred, const Tensor& target) {
  check<DataError>(target.defined(), "a metric of labels or values: the batch has no targets");
  check(pred.shape().rank() == 2 && target.shape() == pred.shape(),
        "a metric of labels or values: targets are {} for predictions {}",
        target.shape(),
        pred.shape());
  outputs_.add(ctx, pred);
  targets_.add(ctx, target);
  ctx_ = &ctx;
}

double OfTargets::value() const {
  if (outputs_.rows() == 0) return std::numeric_limits<double>::quiet_NaN();
  const Tensor outputs = outputs_.read(*ctx_);
  const Tensor targets = targets_.read(*ctx_);
  return measure_(outputs.span<float>(), outputs_.columns(), targets.span<float>());
}

void OfTargets::visit_state(Context& ctx, std::int64_t most, StateVisitor& visitor) {
  ctx_ = &ctx;
  outputs_.visit_state(ctx, most, "outputs", visitor);
  targets_.visit_state(ctx, most, "targets", visitor);
}

namespace metrics {
namespace {

Metric of_targets(std::string name, TargetKind kind, OfTargets::Measure measure) {
  Metric metric{std::move(name), OfTargets(std::move(measure))};
  metric.targets = kind;
  return metric;
}

template <class F>
Metric of_labels(const char* name, double threshold, F measure) {
  check<UsageError>(threshold >= 0 && threshold < 1,
                    "metric '{}': the threshold {} is not in [0, 1)",
                    name,
                    threshold);
  return of_targets(
      threshold == kLabelThreshold ? std::string(name) : fmt::format("{}_{}", name, threshold),
      TargetKind::labels,
      [threshold, measure](
          std::span<const float> logits, std::int64_t labels, std::span<const float> targets) {
        return measure(label_report(logits, labels, targets, threshold));
      });
}

Metric of_values(const char* name, double ValueErrors::*error) {
  return of_targets(
      name,
      TargetKind::values,
      [error](
          std::span<const float> predictions, std::int64_t values, std::span<const float> targets) {
        return value_report(predictions, values, targets).mean.*error;
      });
}

}  // namespace

Metric accuracy_multi(double threshold) {
  return of_labels("accuracy_multi", threshold, [](const LabelReport& r) { return r.accuracy; });
}

Metric precision_multi(double threshold) {
  return of_labels(
      "precision_multi", threshold, [](const LabelReport& r) { return r.macro.precision; });
}

Metric recall_multi(double threshold) {
  return of_labels("recall_multi", threshold, [](const LabelReport& r) { return r.macro.recall; });
}

Metric f1_multi(double threshold) {
  return of_labels("f1_multi", threshold, [](const LabelReport& r) { return r.macro.f1; });
}

Metric average_precision() {
  return of_labels("average_precision", kLabelThreshold, [](const LabelReport& r) {
    return r.macro.average_precision;
  });
}

Metric mae() { return of_values("mae", &ValueErrors::mae); }

Metric rmse() { return of_values("rmse", &ValueErrors::rmse); }

Metric r2() { return of_values("r2", &ValueErrors::r2); }

}  // namespace metrics
}  // namespace learn
