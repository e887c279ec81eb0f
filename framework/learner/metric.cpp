#include "framework/learner/metric.h"

#include "framework/core/error.h"
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/reduce/reduce.h"
#include "framework/learner/confusion_matrix.h"
#include "framework/runtime/transfer.h"

#include <fmt/core.h>

namespace learn {
namespace {

/// Means over samples of what is counted on the device.
class CountPass final : public MetricPass {
 public:
  CountPass(Context& ctx, const detail::CountSamples& count)
      : ctx_(ctx), count_(count), counted_(ctx.persistent(), {1}, DType::i64) {
    kernels::fill(ctx, counted_, 0);
  }
  void add(const Tensor& pred, const Tensor& target) override {
    count_(ctx_, pred, target, counted_);
    samples_ += pred.shape()[0];
  }
  [[nodiscard]] double value() const override {
    return static_cast<double>(to_host(ctx_, counted_).item<std::int64_t>()) /
           static_cast<double>(samples_);
  }

 private:
  Context& ctx_;
  detail::CountSamples count_;
  Tensor counted_;
  std::int64_t samples_ = 0;
};

}  // namespace

std::unique_ptr<MetricPass> detail::begin_count(Context& ctx, const CountSamples& count) {
  return std::make_unique<CountPass>(ctx, count);
}

void Metric::check_classes(std::int64_t classes) const {
  if (classes < least_classes)
    fail<UsageError>(
        "metric '{}' needs at least {} classes, there are {}", name, least_classes, classes);
}

MetricPasses::MetricPasses(Context& ctx, const std::vector<Metric>& metrics) : metrics_(metrics) {
  for (const Metric& metric : metrics) passes_.push_back(metric.begin(ctx));
}

void MetricPasses::add(const Tensor& pred, const Tensor& target) {
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    if (metrics_[i].least_classes > 0) metrics_[i].check_classes(pred.shape()[-1]);
    passes_[i]->add(pred, target);
  }
}

std::vector<std::pair<std::string, double>> MetricPasses::values() const {
  std::vector<std::pair<std::string, double>> out;
  for (std::size_t i = 0; i < passes_.size(); ++i)
    out.emplace_back(metrics_[i].name, passes_[i]->value());
  return out;
}

namespace metrics {
namespace {

Metric counted(std::string name, std::int64_t k, kernels::Counted counted) {
  auto count = [name, k, counted](
                   Context& ctx, const Tensor& pred, const Tensor& target, Tensor& out) {
    check<DataError>(target.defined(), "metric '{}': the batch has no targets", name);
    kernels::count_hits(ctx, pred, target, k, counted, out);
  };
  Metric metric{std::move(name), std::move(count)};
  metric.least_classes = static_cast<int>(k);
  return metric;
}

/// What a confusion matrix says of one class, or on the mean of all.
class OfConfusion {
 public:
  using OfClass = double (ConfusionMatrix::*)(int) const;
  OfConfusion(OfClass measure, std::optional<int> of_class) : measure_(measure), class_(of_class) {}

  void add(Context& ctx, const Tensor& pred, const Tensor& target) {
    check<DataError>(target.defined(), "a metric of classes: the batch has no targets");
    matrix_.add(to_host(ctx, pred), to_host(ctx, target));
  }
  [[nodiscard]] double value() const {
    return class_ && matrix_.samples() > 0 ? (matrix_.*measure_)(*class_) : matrix_.mean(measure_);
  }

 private:
  OfClass measure_;
  std::optional<int> class_;
  ConfusionMatrix matrix_;
};

Metric of_confusion(const char* name, OfConfusion::OfClass measure, std::optional<int> of_class) {
  if (!of_class) return {name, OfConfusion(measure, of_class)};
  if (*of_class < 0) fail<UsageError>("metric '{}': there is no class {}", name, *of_class);
  Metric metric{fmt::format("{}_{}", name, *of_class), OfConfusion(measure, of_class)};
  metric.least_classes = *of_class + 1;
  return metric;
}

}  // namespace

Metric accuracy() { return counted("accuracy", 1, kernels::Counted::hits); }

Metric error_rate() { return counted("error_rate", 1, kernels::Counted::misses); }

Metric top_k(int k) {
  check<UsageError>(k >= 1, "top_k: k must be at least 1, got {}", k);
  return counted(fmt::format("top_{}", k), k, kernels::Counted::hits);
}

Metric recall(std::optional<int> of_class) {
  return of_confusion("recall", &ConfusionMatrix::recall, of_class);
}

Metric precision(std::optional<int> of_class) {
  return of_confusion("precision", &ConfusionMatrix::precision, of_class);
}

Metric f1(std::optional<int> of_class) {
  return of_confusion("f1", &ConfusionMatrix::f1, of_class);
}

}  // namespace metrics
}  // namespace learn
