#include "framework/optim/rank_gradients.h"

#include "framework/kernels/cast/cast.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/optim/gradients.h"

#include <utility>
#include <vector>

namespace learn::optim {
namespace {

/// Whether a backward pass left gradients, and in a half model such in halves.
bool has_gradients(const nn::ParamStore& store) {
  bool full = false;
  bool half = false;
  bool half_model = false;
  for (std::int64_t i = 0; i < store.size(); ++i) {
    const ParamSlot& slot = store.slot(i);
    const bool is_half_gradient = is_half(slot.grad.dtype());
    half_model = half_model || (slot.trainable && is_half_gradient);
    if (slot.trainable && slot.has_grad()) (is_half_gradient ? half : full) = true;
  }
  return half_model ? half : full;
}

}  // namespace

void sum_gradients(Communicator& ranks, nn::ParamStore& store, double part) {
  check<UsageError>(part >= 0 && part <= 1,
                    "sum_gradients: a rank's part of the batch is its rows divided by all rows, 0 "
                    "to 1, not {}",
                    part);
  check<UsageError>(has_gradients(store),
                    "sum_gradients is called without gradients: call it after the backward pass, "
                    "and before they are unscaled (HalfOptimizer::backward(loss, false))");
  Context& ctx = store.context();
  zero_missing_gradients(store);
  ranks.set_purpose("the gradients of a batch");
  std::vector<std::pair<Tensor, Tensor>> staged;  // halves, and their f32 copies
  const auto begin = [&](Tensor values) {
    if (!is_half(values.dtype())) {
      kernels::scale(ctx, values, part, values);
      return ranks.begin_sum(values);
    }
    Tensor wide = ctx.empty(values.shape(), DType::f32);
    kernels::cast(ctx, values, wide);
    kernels::scale(ctx, wide, part, wide);
    ranks.begin_sum(wide);
    staged.emplace_back(std::move(values), std::move(wide));
  };
  for (int group = 0; group < store.groups(); ++group) {
    for (const nn::Segment& run : store.half_segments(group))
      begin(store.flat_half_grad().range(run.begin, run.count));
    for (const nn::Segment& run : store.full_segments(group))
      begin(store.flat_grad().range(run.begin, run.count));
  }
  RankStatistics statistics;
  statistics.begin(ranks, store, part);
  ranks.finish();
  for (auto& [halves, wide] : staged) kernels::cast(ctx, wide, halves);
  statistics.end(store);
}

void RankStatistics::begin(Communicator& ranks, nn::ParamStore& store, double part) {
  Context& ctx = store.context();
  const Tensor& now = store.flat_buffers();
  if (now.elements() == 0) return;
  changes_ = ctx.empty(now.shape(), now.dtype());
  kernels::scale(ctx, store.flat_committed_buffers(), -1, changes_);
  kernels::add(ctx, changes_, now, changes_);
  kernels::scale(ctx, changes_, part, changes_);
  ranks.begin_sum(changes_);
}

void RankStatistics::end(nn::ParamStore& store) {
  if (!changes_.defined()) return;
  kernels::add(store.context(), store.flat_committed_buffers(), changes_, store.flat_buffers());
  changes_ = {};
}

}  // namespace learn::optim
