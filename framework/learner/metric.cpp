#include "framework/learner/metric.h"

#include "framework/backend/cast.h"
#include "framework/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace learn::metrics {
namespace {

/// Classes (N) of integer or soft targets, on the host.
std::vector<std::int64_t> classes_of(Context& ctx, const Tensor& target) {
  const Tensor host = backend::to_host(ctx, target);
  if (host.dtype() == DType::i64) {
    const auto values = host.span<std::int64_t>();
    return {values.begin(), values.end()};
  }
  const auto values = host.span<float>();
  const std::int64_t columns = host.shape()[-1];
  std::vector<std::int64_t> out;
  for (auto row = values.begin(); row != values.end(); row += columns)
    out.push_back(std::max_element(row, row + columns) - row);
  return out;
}

/// How many logits stand before the one of class `wanted`: the larger ones, and among equals those
/// with a smaller index, so that this agrees with an argmax that takes the first. NaN counts as the
/// largest; a NaN of the wanted class is never right.
std::int64_t rank_of(std::span<const float> row, std::int64_t wanted) {
  const float own = row[static_cast<std::size_t>(wanted)];
  if (std::isnan(own)) return static_cast<std::int64_t>(row.size());
  std::int64_t before = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool larger = !(row[i] <= own);
    const bool earlier_equal = row[i] == own && static_cast<std::int64_t>(i) < wanted;
    if (larger || earlier_equal) ++before;
  }
  return before;
}

double hits(Context& ctx, const Tensor& pred, const Tensor& target, int k) {
  check(pred.shape().rank() == 2, "metric: needs predictions (N,classes), got {}", pred.shape());
  const Tensor host = backend::to_host(ctx, pred);
  const auto logits = host.span<float>();
  const std::vector<std::int64_t> wanted = classes_of(ctx, target);
  const auto columns = static_cast<std::size_t>(pred.shape()[1]);
  check(static_cast<std::int64_t>(wanted.size()) == pred.shape()[0],
        "metric: {} targets for predictions {}",
        wanted.size(),
        pred.shape());
  std::int64_t count = 0;
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    check<DataError>(wanted[n] >= 0 && wanted[n] < pred.shape()[1],
                     "metric: class {} is out of range for {} classes",
                     wanted[n],
                     columns);
    if (rank_of(logits.subspan(n * columns, columns), wanted[n]) < k) ++count;
  }
  return static_cast<double>(count);
}

}  // namespace

Metric accuracy() {
  return {"accuracy", [](Context& ctx, const Tensor& pred, const Tensor& target) {
            return hits(ctx, pred, target, 1);
          }};
}

Metric error_rate() {
  return {"error_rate", [](Context& ctx, const Tensor& pred, const Tensor& target) {
            return static_cast<double>(pred.shape()[0]) - hits(ctx, pred, target, 1);
          }};
}

Metric top_k(int k) {
  check<UsageError>(k >= 1, "top_k: k must be at least 1, got {}", k);
  return {fmt::format("top_{}", k), [k](Context& ctx, const Tensor& pred, const Tensor& target) {
            return hits(ctx, pred, target, k);
          }};
}

}  // namespace learn::metrics
