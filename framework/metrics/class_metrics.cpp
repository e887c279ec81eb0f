#include "framework/metrics/class_metrics.h"

#include "framework/core/error.h"
#include "framework/evaluation/calibration.h"
#include "framework/evaluation/roc_auc.h"
#include "framework/kernels/reduce/reduce.h"
#include "framework/metrics/metric.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace learn {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The classes (N) i64 of targets, on the device.
Tensor classes_of(Context& ctx, const Tensor& pred, const Tensor& target) {
  check<DataError>(target.defined(), "a metric of classes: the batch has no targets");
  const bool soft = target.dtype() == DType::f32;
  const Shape& shape = pred.shape();
  check(shape.rank() == 2 && target.shape() == (soft ? shape : Shape{shape[0]}),
        "a metric of classes: targets are {} for predictions {}",
        target.shape(),
        shape);
  if (!soft) return target;
  Tensor largest = ctx.empty({shape[0]}, DType::i64);
  kernels::argmax(ctx, target, largest);
  return largest;
}

}  // namespace

void OfConfusion::add(Context& ctx, const Tensor& pred, const Tensor& target) {
  const Tensor truths = classes_of(ctx, pred, target);
  const std::int64_t rows = pred.shape()[0];
  // A NaN ranks before all numbers: the largest is NaN exactly where the row has one.
  Tensor largest = ctx.empty({rows, 1}, DType::f32);
  Tensor guesses = ctx.empty({rows, 1}, DType::i64);
  kernels::top_k(ctx, pred, largest, guesses);
  largest_.add(ctx, largest);
  guesses_.add(ctx, guesses);
  truths_.add(ctx, truths);
  classes_ = pred.shape()[1];
  ctx_ = &ctx;
}

double OfConfusion::value() const {
  if (guesses_.rows() == 0) return kNaN;
  const Tensor largest = largest_.read(*ctx_);
  Tensor guesses = guesses_.read(*ctx_);
  const Tensor truths = truths_.read(*ctx_);
  for (std::size_t i = 0; i < guesses.span<std::int64_t>().size(); ++i)
    if (std::isnan(largest.span<float>()[i])) guesses.span<std::int64_t>()[i] = -1;
  ConfusionMatrix matrix;
  matrix.add(classes_, truths.span<std::int64_t>(), guesses.span<std::int64_t>());
  return measure_(matrix);
}

void OfConfusion::visit_state(Context& ctx, std::int64_t most, StateVisitor& visitor) {
  ctx_ = &ctx;
  constexpr std::int64_t kMaxClasses = 1 << 20;
  visitor.visit("classes", classes_, {.high = kMaxClasses});
  largest_.visit_state(ctx, most, "largest", visitor);
  guesses_.visit_state(ctx, most, "guesses", visitor);
  truths_.visit_state(ctx, most, "truths", visitor);
}

void OfLogits::add(Context& ctx, const Tensor& pred, const Tensor& target) {
  truths_.add(ctx, classes_of(ctx, pred, target));
  logits_.add(ctx, pred);
  ctx_ = &ctx;
}

double OfLogits::value() const {
  if (logits_.rows() == 0) return kNaN;
  const Tensor logits = logits_.read(*ctx_);
  const Tensor truths = truths_.read(*ctx_);
  return measure_(logits.span<float>(), logits_.columns(), truths.span<std::int64_t>());
}

void OfLogits::visit_state(Context& ctx, std::int64_t most, StateVisitor& visitor) {
  ctx_ = &ctx;
  logits_.visit_state(ctx, most, "logits", visitor);
  truths_.visit_state(ctx, most, "truths", visitor);
}

namespace metrics {
namespace {

using OfClass = double (ConfusionMatrix::*)(int) const;

template <class Pass>
Metric for_classes(std::string name, Pass pass) {
  Metric metric{std::move(name), std::move(pass)};
  metric.targets = TargetKind::classes;
  return metric;
}

/// Value of a confusion matrix for one class, or the mean over all.
Metric of_classes(const char* name, OfClass measure, std::optional<int> of_class) {
  if (!of_class)
    return for_classes(
        name, OfConfusion([measure](const ConfusionMatrix& m) { return m.mean(measure); }));
  if (*of_class < 0) fail<UsageError>("metric '{}': class {} does not exist", name, *of_class);
  Metric metric = for_classes(
      fmt::format("{}_{}", name, *of_class),
      OfConfusion([measure, c = *of_class](const ConfusionMatrix& m) { return (m.*measure)(c); }));
  metric.least_classes = *of_class + 1;
  return metric;
}

}  // namespace

Metric recall(std::optional<int> of_class) {
  return of_classes("recall", &ConfusionMatrix::recall, of_class);
}

Metric precision(std::optional<int> of_class) {
  return of_classes("precision", &ConfusionMatrix::precision, of_class);
}

Metric f1(std::optional<int> of_class) { return of_classes("f1", &ConfusionMatrix::f1, of_class); }

Metric kappa() { return for_classes("kappa", OfConfusion(&ConfusionMatrix::kappa)); }

Metric mcc() { return for_classes("mcc", OfConfusion(&ConfusionMatrix::matthews)); }

Metric auc() { return for_classes("auc", OfLogits(&mean_roc_auc)); }

Metric ece(int bins) {
  check<UsageError>(bins >= 1, "ece: there must be at least one bin, not {}", bins);
  return for_classes(bins == kCalibrationBins ? std::string("ece") : fmt::format("ece_{}", bins),
                     OfLogits([bins](std::span<const float> logits,
                                     std::int64_t classes,
                                     std::span<const std::int64_t> truths) {
                       return calibration(logits, classes, truths, bins).ece;
                     }));
}

}  // namespace metrics
}  // namespace learn
