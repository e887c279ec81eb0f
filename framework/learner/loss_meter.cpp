#include "framework/learner/loss_meter.h"

#include "framework/kernels/cast/cast.h"
#include "framework/kernels/cast/fill.h"
#include "framework/learner/loop_state.h"
#include "framework/runtime/context.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace learn {

void LossMeter::begin(Context& ctx, std::int64_t batches) {
  samples_.clear();
  if (!losses_.defined() || losses_.elements() < batches)
    losses_ = Tensor(ctx.persistent(), {batches}, DType::f32);
  weighted_ = false;
}

void LossMeter::add(Context& ctx, const BatchRun& batch) {
  const auto at = static_cast<std::int64_t>(samples_.size());
  check<Error>(losses_.defined() && at < losses_.elements(),
               "the data source returned more batches than the {} it announced",
               at);
  Tensor slot = losses_.range(at, 1);
  kernels::cast(ctx, batch.loss.value().view({1}), slot);
  if (batch.weight.defined() && !weighted_) begin_weights(ctx);
  if (weighted_) {
    Tensor weight = weights_.range(at, 1);
    if (batch.weight.defined())
      kernels::cast(ctx, batch.weight, weight);
    else
      kernels::fill(ctx, weight, static_cast<double>(batch.samples()));
  }
  samples_.push_back(batch.samples());
}

/// From the first batch on whose loss has a weight, all have one.
void LossMeter::begin_weights(Context& ctx) {
  weighted_ = true;
  if (!weights_.defined() || weights_.elements() < losses_.elements())
    weights_ = Tensor(ctx.persistent(), losses_.shape(), DType::f32);
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    Tensor weight = weights_.range(static_cast<std::int64_t>(i), 1);
    kernels::fill(ctx, weight, static_cast<double>(samples_[i]));
  }
}

std::int64_t LossMeter::samples() const noexcept {
  return std::accumulate(samples_.begin(), samples_.end(), std::int64_t{0});
}

double LossMeter::mean(Context& ctx, std::int64_t skipped) const {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  if (samples_.empty()) return kNaN;
  const auto count = static_cast<std::int64_t>(samples_.size());
  const Tensor host = to_host(ctx, losses_.range(0, count));
  const auto values = host.span<float>();
  std::vector<double> weights(samples_.begin(), samples_.end());
  if (weighted_) {
    const Tensor on_host = to_host(ctx, weights_.range(0, count));
    std::ranges::copy(on_host.span<float>(), weights.begin());
  }
  const auto bad = std::count_if(
      values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  double sum = 0;
  double used = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0 || (bad <= skipped && !std::isfinite(values[i]))) continue;
    sum += static_cast<double>(values[i]) * weights[i];
    used += weights[i];
  }
  if (used == 0 || std::isnan(sum)) return kNaN;  // this one: the sign of others would be printed
  return sum / used;
}

void LossMeter::visit_state(
    Context& ctx, std::int64_t done, std::int64_t batches, bool weighted, StateVisitor& visitor) {
  auto count = static_cast<std::int64_t>(samples_.size());
  visitor.visit("losses_known", count, {.high = done});
  if (visitor.loading()) begin(ctx, batches);
  if (count == 0) return;
  samples_.resize(static_cast<std::size_t>(count));
  Tensor losses =
      visitor.loading() ? host_tensor({count}, DType::f32) : to_host(ctx, losses_.range(0, count));
  Tensor samples = host_tensor<std::int64_t>({count}, samples_);
  visitor.visit("losses", losses);
  visitor.visit("losses_samples", samples);
  if (weighted) visit_weights(ctx, count, visitor);
  if (!visitor.loading()) return;
  const auto loaded = samples.span<std::int64_t>();
  for (const std::int64_t n : loaded) visitor.check_loaded("losses_samples", n, IntegerLimits{});
  samples_.assign(loaded.begin(), loaded.end());
  Tensor slots = losses_.range(0, count);
  copy(ctx, to_device(ctx, ctx.step(), losses), slots);
}

void LossMeter::visit_weights(Context& ctx, std::int64_t count, StateVisitor& visitor) {
  if (!weighted_) begin_weights(ctx);
  Tensor slots = weights_.range(0, count);
  Tensor weights = to_host(ctx, slots);
  visitor.visit("losses_weights", weights);
  if (!visitor.loading()) return;
  constexpr RealLimits kWeight{.high = kFloatLimits.high};
  for (const float weight : weights.span<float>())
    visitor.check_loaded("losses_weights", static_cast<double>(weight), kWeight);
  copy(ctx, to_device(ctx, ctx.step(), weights), slots);
}

}  // namespace learn
