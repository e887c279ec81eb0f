#include "framework/learner/loss_meter.h"

#include "framework/kernels/cast/cast.h"
#include "framework/learner/loop_state.h"
#include "framework/runtime/context.h"
#include "framework/runtime/transfer.h"

#include <cmath>
#include <limits>

namespace learn {
namespace {

constexpr std::int64_t kPending = 256;  // a Recorder waits for the device as often

/// The slot of batch `at` in a buffer that is made for the first of them.
Tensor slot_of(Context& ctx, Tensor& buffer, std::size_t at) {
  if (!buffer.defined()) buffer = Tensor(ctx.persistent(), {kPending}, DType::f32);
  return buffer.range(static_cast<std::int64_t>(at), 1);
}

}  // namespace

void LossMeter::begin(std::int64_t batches) {
  announced_ = batches;
  batches_ = samples_ = 0;
  sums_ = {};
  pending_.clear();
}

void LossMeter::add(Context& ctx, const BatchRun& batch) {
  check<Error>(batches_ < announced_,
               "the data source returned more batches than the {} it announced",
               announced_);
  if (static_cast<std::int64_t>(pending_.size()) == kPending) read_pending(ctx);
  Tensor loss = slot_of(ctx, losses_, pending_.size());
  kernels::cast(ctx, batch.loss.value().view({1}), loss);
  if (batch.weight.defined()) {
    Tensor weight = slot_of(ctx, weights_, pending_.size());
    kernels::cast(ctx, batch.weight, weight);
  }
  pending_.push_back({.samples = batch.samples(), .weighted = batch.weight.defined()});
  ++batches_;
  samples_ += batch.samples();
}

void LossMeter::Sum::add(double of_batch, double its_weight) {
  loss += of_batch * its_weight;
  weight += its_weight;
}

/// Adds the pending batches to the sums, in their order.
LossMeter::Sums LossMeter::sums(Context& ctx) const {
  Sums out = sums_;
  if (pending_.empty()) return out;
  const auto count = static_cast<std::int64_t>(pending_.size());
  const Tensor losses = to_host(ctx, losses_.range(0, count));
  const Tensor weights = weights_.defined() ? to_host(ctx, weights_.range(0, count)) : Tensor();
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const auto loss = static_cast<double>(losses.span<float>()[i]);
    const double weight = pending_[i].weighted ? static_cast<double>(weights.span<float>()[i])
                                               : static_cast<double>(pending_[i].samples);
    const bool finite = std::isfinite(loss);
    if (!finite) ++out.not_finite;
    if (weight == 0) continue;
    out.all.add(loss, weight);
    if (finite) out.finite.add(loss, weight);
  }
  return out;
}

void LossMeter::read_pending(Context& ctx) {
  sums_ = sums(ctx);
  pending_.clear();
}

double LossMeter::mean(Context& ctx, std::int64_t skipped) const {
  const Sums now = sums(ctx);
  const Sum& sum = now.not_finite <= skipped ? now.finite : now.all;
  if (sum.weight == 0 || std::isnan(sum.loss))  // this NaN: the sign of others would be printed
    return std::numeric_limits<double>::quiet_NaN();
  return sum.loss / sum.weight;
}

void LossMeter::visit_state(Context& ctx,
                            std::int64_t done,
                            std::int64_t batches,
                            StateVisitor& visitor) {
  if (visitor.loading()) begin(batches);
  read_pending(ctx);
  const StateVisitor::Scope scope(visitor, "losses");
  visitor.visit("known", batches_, {.high = done});
  visitor.visit("samples", samples_, {});
  visitor.visit("not_finite", sums_.not_finite, {.high = batches_});
  visitor.visit("sum", sums_.all.loss);  // may be infinite or NaN
  visitor.visit("weight", sums_.all.weight, RealLimits{});
  visitor.visit("finite_sum", sums_.finite.loss, kFiniteLimits);
  visitor.visit("finite_weight", sums_.finite.weight, RealLimits{});
}

}  // namespace learn
