#include "framework/learner/metric.h"

#include "framework/core/error.h"
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/reduce/reduce.h"
#include "framework/runtime/transfer.h"

#include <fmt/core.h>

#include <algorithm>

namespace learn {

MetricSums::MetricSums(Context& ctx, const std::vector<Metric>& metrics)
    : ctx_(ctx), metrics_(metrics), sums_(metrics.size()) {
  for (const Metric& metric : metrics)
    check<UsageError>((metric.sum == nullptr) != (metric.count == nullptr),
                      "metric '{}' needs one function, sum or count",
                      metric.name);
  const auto counts = [](const Metric& metric) { return metric.count != nullptr; };
  if (std::none_of(metrics.begin(), metrics.end(), counts)) return;
  counts_ = Tensor(ctx.persistent(), {static_cast<std::int64_t>(metrics.size())}, DType::i64);
  kernels::fill(ctx, counts_, 0);
}

void MetricSums::add(const Tensor& pred, const Tensor& target) {
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (metrics_[i].sum != nullptr) {
      sums_[i] += metrics_[i].sum(ctx_, pred, target);
      continue;
    }
    Tensor count = counts_.range(static_cast<std::int64_t>(i), 1);
    metrics_[i].count(ctx_, pred, target, count);
  }
}

std::vector<double> MetricSums::means(std::int64_t samples) const {
  std::vector<double> means = sums_;
  if (counts_.defined()) {
    const Tensor host = to_host(ctx_, counts_);
    const auto counts = host.span<std::int64_t>();
    for (std::size_t i = 0; i < means.size(); ++i)
      if (metrics_[i].count != nullptr) means[i] = static_cast<double>(counts[i]);
  }
  for (double& mean : means) mean /= static_cast<double>(samples);
  return means;
}

namespace metrics {
namespace {

Metric counted(std::string name, std::int64_t k, kernels::Counted counted) {
  auto count = [name, k, counted](
                   Context& ctx, const Tensor& pred, const Tensor& target, Tensor& out) {
    check<DataError>(target.defined(), "metric '{}': the batch has no targets", name);
    kernels::count_hits(ctx, pred, target, k, counted, out);
  };
  return {.name = std::move(name), .count = std::move(count)};
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
