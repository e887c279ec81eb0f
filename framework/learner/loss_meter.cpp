#include "framework/learner/loss_meter.h"

#include "framework/kernels/cast/cast.h"
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
}

void LossMeter::add(Context& ctx, const Tensor& loss, std::int64_t samples) {
  const auto at = static_cast<std::int64_t>(samples_.size());
  check<Error>(losses_.defined() && at < losses_.elements(),
               "the data source gave more batches than the {} it announced",
               at);
  Tensor slot = losses_.range(at, 1);
  kernels::cast(ctx, loss.view({1}), slot);
  samples_.push_back(samples);
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
  const auto bad = std::count_if(
      values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  double sum = 0;
  std::int64_t used = 0;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    if (bad <= skipped && !std::isfinite(values[i])) continue;
    sum += static_cast<double>(values[i]) * static_cast<double>(samples_[i]);
    used += samples_[i];
  }
  if (used == 0 || std::isnan(sum)) return kNaN;  // this one: the sign of others would be printed
  return sum / static_cast<double>(used);
}

void LossMeter::visit_state(Context& ctx,
                            std::int64_t done,
                            std::int64_t batches,
                            StateVisitor& visitor) {
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
  if (!visitor.loading()) return;
  const auto loaded = samples.span<std::int64_t>();
  for (const std::int64_t n : loaded) visitor.check_loaded("losses_samples", n, IntegerLimits{});
  samples_.assign(loaded.begin(), loaded.end());
  Tensor slots = losses_.range(0, count);
  copy(ctx, to_device(ctx, ctx.step(), losses), slots);
}

}  // namespace learn
