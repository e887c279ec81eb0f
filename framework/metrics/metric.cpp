#include "framework/metrics/metric.h"

#include "framework/core/error.h"
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/reduce/reduce.h"
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
  void visit_state(std::int64_t most, StateVisitor& visitor) override {
    visitor.visit("samples", samples_, {.high = most});
    std::int64_t count = visitor.loading() ? 0 : to_host(ctx_, counted_).item<std::int64_t>();
    visitor.visit("counted", count, {.high = samples_});
    if (visitor.loading()) kernels::fill(ctx_, counted_, static_cast<double>(count));
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
        "metric '{}' needs at least {} classes, but there are {}", name, least_classes, classes);
}

MetricPasses::MetricPasses(Context& ctx, const std::vector<Metric>& metrics) : metrics_(&metrics) {
  for (const Metric& metric : metrics) passes_.push_back(metric.begin(ctx));
}

void MetricPasses::add(const Tensor& pred, const Tensor& target) {
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    if ((*metrics_)[i].least_classes > 0) (*metrics_)[i].check_classes(pred.shape()[-1]);
    passes_[i]->add(pred, target);
  }
}

std::vector<std::pair<std::string, double>> MetricPasses::values() const {
  std::vector<std::pair<std::string, double>> out;
  for (std::size_t i = 0; i < passes_.size(); ++i)
    out.emplace_back((*metrics_)[i].name, passes_[i]->value());
  return out;
}

void MetricPasses::visit_state(std::int64_t most, StateVisitor& visitor) {
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const StateVisitor::Scope scope(visitor, (*metrics_)[i].name);
    passes_[i]->visit_state(most, visitor);
  }
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
  metric.targets = TargetKind::classes;
  return metric;
}

}  // namespace

Metric accuracy() { return counted("accuracy", 1, kernels::Counted::hits); }

Metric error_rate() { return counted("error_rate", 1, kernels::Counted::misses); }

Metric top_k(int k) {
  check<UsageError>(k >= 1, "top_k: k must be at least 1, got {}", k);
  return counted(fmt::format("top_{}", k), k, kernels::Counted::hits);
}

}  // namespace metrics
}  // namespace learn
