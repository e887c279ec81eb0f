#include "framework/learner/loss_meter.h"

#include "framework/kernels/cast/cast.h"
#include "framework/runtime/context.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"

#include <algorithm>
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

double LossMeter::mean(Context& ctx) const {
  const std::int64_t total = samples();
  if (total == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<std::int64_t>(samples_.size());
  const Tensor host = to_host(ctx, losses_.range(0, count));
  const auto values = host.span<float>();
  double sum = 0;
  for (std::size_t i = 0; i < samples_.size(); ++i)
    sum += static_cast<double>(values[i]) * static_cast<double>(samples_[i]);
  return sum / static_cast<double>(total);
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
  samples_.assign(loaded.begin(), loaded.end());
  Tensor slots = losses_.range(0, count);
  copy(ctx, to_device(ctx, ctx.step(), losses), slots);
}

}  // namespace learn
  for (const std::int64_t n : loaded) visitor.check_loaded("losses_samples", n, IntegerLimits{});
